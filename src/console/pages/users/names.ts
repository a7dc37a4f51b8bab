/** Display names of users. Lists contain no usernames, so the names in lists come from the profile or the ID. */
interface NamedUser {
  id: string
  profile: Record<string, unknown>
  username?: string
}

const nonEmptyString = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

export function userName({ id, profile, username }: NamedUser): string {
  const fullName = [nonEmptyString(profile['given_name']), nonEmptyString(profile['family_name'])]
    .filter(Boolean)
    .join(' ')
  return (
    nonEmptyString(profile['name']) ??
    nonEmptyString(fullName) ??
    nonEmptyString(profile['email']) ??
    nonEmptyString(username) ??
    `User …${id.slice(-6)}`
  )
}

export function initialsOf(user: NamedUser): string {
  const name = userName(user)
  if (name.startsWith('User …')) return '·'
  const words = name.split(/[\s@._-]+/).filter(Boolean)
  return `${words[0]?.charAt(0) ?? ''}${words.length > 1 && !name.includes('@') ? (words.at(-1)?.charAt(0) ?? '') : ''}`.toUpperCase()
}
