/** The setting `openid.claims` of issuers and clients (docs/contract.md#custom-claims). */
import { z } from 'zod'
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { profileOnlyClaimNames, reservedClaimNames } from './registered-claims.js'

/** Where a custom claim can be. */
export const claimPlaces = ['id_token', 'access_token', 'userinfo'] as const
export type ClaimPlace = (typeof claimPlaces)[number]

/** Sources with a key, which names one field of the object. The key is everything after the prefix. */
const keyedSources = ['user.profile', 'user.metadata', 'user.custom_fields', 'organization.metadata'] as const
const plainSources = ['organization.id', 'organization.name', 'groups', 'scopes'] as const

export type ClaimSource =
  | { readonly kind: (typeof keyedSources)[number]; readonly key: string }
  | { readonly kind: (typeof plainSources)[number] }

/** Parses the source of a claim, such as `user.metadata.department`; undefined if it is unknown. */
export function parseClaimSource(text: string): ClaimSource | undefined {
  const plain = plainSources.find((kind) => kind === text)
  if (plain) return { kind: plain }
  const keyed = keyedSources.find((kind) => text.startsWith(`${kind}.`) && text.length > kind.length + 1)
  return keyed && { kind: keyed, key: text.slice(keyed.length + 1) }
}

const sourceHint = `${keyedSources.map((kind) => `${kind}.<key>`).join(', ')}, ${plainSources.join(', ')}`

const nameRule = fieldSchemas
  .text(limits.maxClaimNameLength)
  .regex(
    /^[A-Za-z][\w.:/#~-]*$/,
    'must begin with a letter and contain only letters, digits and the characters _ . : / # ~ -',
  )
  .refine((name) => !reservedClaimNames.has(name), {
    error: ({ input }) => `${input} is a registered claim name; choose another name, such as app_${input}.`,
    params: { code: 'reserved' },
  })

const claimRule = z
  .strictObject(
    {
      name: nameRule,
      source: fieldSchemas
        .text(limits.maxClaimSourceLength)
        .refine((text) => parseClaimSource(text) !== undefined, `must be one of ${sourceHint}.`),
      in: z
        .array(z.enum(claimPlaces, `must be one of ${claimPlaces.join(', ')}.`), 'must be an array of places.')
        .min(1, `must have at least one of ${claimPlaces.join(', ')}.`)
        .refine((places) => new Set(places).size === places.length, 'must not have the same place twice.'),
    },
    'must be an object {"name": …, "source": …, "in": […]}.',
  )
  .refine(({ name, source }) => !profileOnlyClaimNames.has(name) || source === `user.profile.${name}`, {
    error: ({ input }) =>
      `must be user.profile.${(input as { name: string }).name} for this registered claim name; for another source, choose another name.`,
    path: ['source'],
  })

/** Rule of the setting `openid.claims`. */
export const customClaimsRule = z
  .array(claimRule, 'must be an array of {"name": …, "source": …, "in": […]}.')
  .max(limits.maxCustomClaims, `must have at most ${limits.maxCustomClaims} entries.`)
  .superRefine((claims, ctx) => {
    const names = new Set<string>()
    for (const [at, { name }] of claims.entries()) {
      if (names.has(name)) {
        const message = `${name} is the name of an earlier claim; each name may occur once.`
        ctx.addIssue({ code: 'custom', path: [at, 'name'], message, params: { code: 'duplicate' } })
      }
      names.add(name)
    }
  })

/** A configured claim. */
export type CustomClaim = z.infer<typeof customClaimsRule>[number]

/** Settings of an issuer or client, as far as this module reads them. */
export interface ClaimSettings {
  openid?: { claims?: unknown } | undefined
}

const none: readonly CustomClaim[] = []
const checkedClaims = new WeakMap<object, readonly CustomClaim[]>()

/**
 * Returns the custom claims in the settings of a stored issuer or client. Settings that were stored before the key had
 * a rule can contain other values, which are ignored.
 */
export function customClaimsIn(settings: ClaimSettings): readonly CustomClaim[] {
  const stored = settings.openid?.claims
  if (!Array.isArray(stored) || stored.length === 0) return none
  let claims = checkedClaims.get(stored)
  if (!claims) {
    claims = customClaimsRule.safeParse(stored).data ?? none
    checkedClaims.set(stored, claims)
  }
  return claims
}

/**
 * Returns the custom claims of a client: those of the issuer and those of the client, which replace claims of the
 * issuer with the same name.
 */
export function customClaimsOf(issuerSettings: ClaimSettings, clientSettings: ClaimSettings): readonly CustomClaim[] {
  const ofIssuer = customClaimsIn(issuerSettings)
  const ofClient = customClaimsIn(clientSettings)
  if (ofClient.length === 0 || ofIssuer.length === 0) return ofClient.length === 0 ? ofIssuer : ofClient
  const replaced = new Set(ofClient.map(({ name }) => name))
  return [...ofIssuer.filter(({ name }) => !replaced.has(name)), ...ofClient]
}

/** Returns the names of the custom claims in the settings of an issuer or client, for `claims_supported`. */
export const customClaimNamesOf = (settings: ClaimSettings): string[] =>
  customClaimsIn(settings).map(({ name }) => name)
