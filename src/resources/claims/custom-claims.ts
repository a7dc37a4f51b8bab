/** The values of custom claims (docs/contract.md#custom-claims). */
import { limits } from '../../kernel/limits.js'
import { type ClaimPlace, type ClaimSource, type CustomClaim, parseClaimSource } from './custom-claim-rules.js'

/** The data from which custom claims are created. */
export interface ClaimFacts {
  /** The profile of the user, in which `email` and `phone_number` have the values that userinfo returns. */
  readonly profile: Readonly<Record<string, unknown>>
  readonly metadata: Readonly<Record<string, unknown>>
  readonly customFields: Readonly<Record<string, unknown>>
  /** The selected organization; null if none is selected, or if the client may not see it. */
  readonly organization: {
    readonly id: string
    readonly name: string | null
    readonly metadata: Readonly<Record<string, unknown>>
    /** Effective scopes of the user in the organization. */
    readonly scopes: readonly string[]
  } | null
  /** Names of the groups of the user in the organizations that the token may contain. */
  readonly groups: readonly string[]
}

export interface OmittedClaim {
  readonly name: string
  readonly place: ClaimPlace
  /**
   * `no_value`: the source has no value. `no_organization`: the source needs a selected organization. `too_large`: the
   * custom claims would exceed `maxCustomClaimBytes`.
   */
  readonly reason: 'no_value' | 'no_organization' | 'too_large'
}

export interface CustomClaimValues {
  readonly claims: Record<string, unknown>
  readonly omitted: readonly OmittedClaim[]
}

/**
 * Returns the custom claims of a token or userinfo response. Omits claims without a value, and each claim that would
 * make the JSON object of the custom claims larger than `maxCustomClaimBytes`; a later, smaller claim can still fit.
 * @param configured the claims of the client, in the order in which they are added
 */
export function evaluateCustomClaims(
  configured: readonly CustomClaim[],
  place: ClaimPlace,
  facts: ClaimFacts,
): CustomClaimValues {
  const claims: Record<string, unknown> = {}
  const omitted: OmittedClaim[] = []
  // The braces of the object.
  let size = 2
  for (const { name, source: text, in: places } of configured) {
    const source = places.includes(place) ? parseClaimSource(text) : undefined
    if (!source) continue
    if (needsOrganization(source) && facts.organization === null) {
      omitted.push({ name, place, reason: 'no_organization' })
      continue
    }
    const value = sourceValue(source, facts)
    if (isMissing(value)) {
      omitted.push({ name, place, reason: 'no_value' })
      continue
    }
    const separator = size === 2 ? 0 : 1
    const added = Buffer.byteLength(`${JSON.stringify(name)}:${JSON.stringify(value)}`) + separator
    if (size + added > limits.maxCustomClaimBytes) {
      omitted.push({ name, place, reason: 'too_large' })
      continue
    }
    size += added
    claims[name] = value
  }
  return { claims, omitted }
}

const needsOrganization = ({ kind }: ClaimSource): boolean => kind === 'scopes' || kind.startsWith('organization.')

/** A value is missing if it is absent, null, or an empty list. */
const isMissing = (value: unknown): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0)

function sourceValue(
  source: ClaimSource,
  { profile, metadata, customFields, organization, groups }: ClaimFacts,
): unknown {
  switch (source.kind) {
    case 'user.profile':
      return own(profile, source.key)
    case 'user.metadata':
      return own(metadata, source.key)
    case 'user.custom_fields':
      return own(customFields, source.key)
    case 'organization.metadata':
      return organization && own(organization.metadata, source.key)
    case 'organization.id':
      return organization?.id
    case 'organization.name':
      return organization?.name
    case 'groups':
      return groups
    case 'scopes':
      return organization?.scopes
  }
}

const own = (object: Readonly<Record<string, unknown>>, key: string): unknown =>
  Object.hasOwn(object, key) ? object[key] : undefined

/** Returns whether a claim at this place needs the memberships of the user. */
export const needsMemberships = (claims: readonly CustomClaim[], place: ClaimPlace): boolean =>
  claims.some(({ source, in: places }) => places.includes(place) && !source.startsWith('user.'))

/** Returns whether a claim needs the profile, the metadata or the custom fields of the user. */
export const needsUserFields = (claims: readonly CustomClaim[]): boolean =>
  claims.some(({ source }) => source.startsWith('user.'))
