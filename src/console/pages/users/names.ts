/** What to call a user. Lists do not hold usernames, so a profile's name or address has to do. */
interface Known {
  id: string
  profile: Record<string, unknown>
  username?: string
}

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

export function userName({ id, profile, username }: Known): string {
  const given = [text(profile['given_name']), text(profile['family_name'])].filter(Boolean).join(' ')
  return text(profile['name']) ?? text(given) ?? text(profile['email']) ?? text(username) ?? `User …${id.slice(-6)}`
}

export function initialsOf(user: Known): string {
  const name = userName(user)
  if (name.startsWith('User …')) return '·'
  const words = name.split(/[\s@._-]+/).filter(Boolean)
  return `${words[0]?.charAt(0) ?? ''}${words.length > 1 && !name.includes('@') ? (words.at(-1)?.charAt(0) ?? '') : ''}`.toUpperCase()
}
