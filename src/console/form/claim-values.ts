/** Values of the field for custom claims. */

/** A custom claim, as in `settings.openid.claims`. */
export interface EditedClaim {
  name: string
  source: string
  in: readonly string[]
}

/** Sources; those with an example of a key need a key. */
export const claimSources: readonly { value: string; label: string; keyExample?: string }[] = [
  { value: 'user.profile', label: 'Profile of the user', keyExample: 'nickname' },
  { value: 'user.metadata', label: 'Metadata of the user', keyExample: 'department' },
  { value: 'user.custom_fields', label: 'Custom fields of the user', keyExample: 'customer_number' },
  { value: 'groups', label: 'Groups of the user' },
  { value: 'scopes', label: 'Scopes in the organization' },
  { value: 'organization.id', label: 'ID of the organization' },
  { value: 'organization.name', label: 'Name of the organization' },
  { value: 'organization.metadata', label: 'Metadata of the organization', keyExample: 'plan' },
]
/** Where a claim can be. */
export const claimPlaces = [
  { value: 'id_token', label: 'ID token' },
  { value: 'access_token', label: 'Access token' },
  { value: 'userinfo', label: 'Userinfo' },
]

/** Splits a source such as `user.metadata.department` into the value of a source option and the key. */
export function splitSource(source: string): { kind: string; key: string } {
  const keyed = claimSources.find(({ value, keyExample }) => keyExample && source.startsWith(`${value}.`))
  return keyed ? { kind: keyed.value, key: source.slice(keyed.value.length + 1) } : { kind: source, key: '' }
}

/** Joins the value of a source option and a key, which only some sources have. */
export const joinSource = (kind: string, key: string): string =>
  claimSources.find(({ value }) => value === kind)?.keyExample ? `${kind}.${key}` : kind

/** Returns why a claim cannot be saved; undefined if it is complete. */
export function incompleteClaimError(claims: readonly EditedClaim[]): string | undefined {
  for (const [at, { name, source, in: where }] of claims.entries()) {
    const { kind, key } = splitSource(source)
    if (name.trim() === '') return `Claim ${at + 1} needs a name.`
    if (claimSources.find(({ value }) => value === kind)?.keyExample && key === '')
      return `Claim ${at + 1} needs a key.`
    if (where.length === 0) return `Claim ${at + 1} needs at least one token.`
  }
  return undefined
}
