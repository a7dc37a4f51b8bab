/**
 * Token exchange policy (docs/contract.md#token-exchange): decides a request from its parameters and from facts that
 * were read for it. All requested scopes are granted, or none. Rule numbers in comments are those of the contract.
 */
import { limits } from '../../kernel/limits.js'
import {
  mayDiscloseOrganization,
  maySelectOrganization,
  type OrganizationRestriction,
  organizationRestrictionOf,
} from './organization-restriction.js'
import { type ClientSettings, isTokenExchangeActor } from './settings.js'

/** Parameters of the request of the actor; undefined if absent. */
export interface ExchangeRequest {
  resource: string | undefined
  /** The raw parameter: scope names separated by single spaces. */
  scope: string | undefined
  org: string | undefined
}

/** Facts on which the decision depends, read for this request. Times in Unix seconds. */
export interface ExchangeFacts {
  now: number
  /** The client that requests the exchange; undefined if it no longer exists. */
  actor: { status: string; confidential: boolean; settings: ClientSettings } | undefined
  /** The verified claims of the subject token. */
  subject: {
    audiences: readonly string[]
    scopes: readonly string[]
    exp: number
    /** Ids of the organizations in the claim `organizations`. */
    orgIds: readonly string[]
    /** The claim `org_id`: the organization that was selected at sign-in; undefined if none was selected. */
    orgId: string | undefined
    /** Current restriction of the client of the token (docs/contract.md#organization-restrictions-of-clients). */
    restriction: OrganizationRestriction
  }
  /** Undefined if the user no longer exists. */
  userStatus: string | undefined
  /** The user's effective scopes in the requested organization; null without an active membership. */
  memberScopes: readonly string[] | null
}

/** Error codes of RFC 6749 section 5.2 and RFC 8693 section 2.2.2. */
export type ExchangeError =
  | 'unauthorized_client'
  | 'invalid_request'
  | 'invalid_grant'
  | 'invalid_target'
  | 'invalid_scope'

/** Either an error, or the audience, scopes, organization and lifetime (in seconds) of the token to issue. */
export type ExchangeDecision =
  | { error: ExchangeError; description: string }
  | { error: null; audience: string; scopes: string[]; orgId: string; lifetime: number }

/**
 * Scopes that can be exchanged (rule 4): a resource, any number of subresources and an action, such as
 * `orders.items:read`. The pattern excludes roles, OpenID Connect scopes, wildcards and `svc:all`.
 */
const exchangeableScopePattern = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*:(read|write|delete|manage)$/

const denyExchange = (error: ExchangeError, description: string): ExchangeDecision => ({ error, description })

/** Decides whether a token exchange is allowed. */
export function decideExchange(request: ExchangeRequest, facts: ExchangeFacts): ExchangeDecision {
  const { actor, subject, memberScopes, now } = facts
  // Rule 3: the current state of the actor.
  const policy = actor?.settings.openid?.token_exchange
  const { subject_resources = [], target_resources = [] } = policy ?? {}
  if (actor?.status !== 'active' || !isTokenExchangeActor(actor)) {
    return denyExchange('unauthorized_client', 'this client is not an active token exchange client')
  }
  if (subject_resources.length === 0 || target_resources.length === 0) {
    return denyExchange(
      'unauthorized_client',
      'this client has no token_exchange policy with subject and target resources',
    )
  }

  // Rule 2: the request parameters.
  const { resource, org } = request
  if (resource === undefined) return denyExchange('invalid_request', 'resource is required')
  if (org === undefined) return denyExchange('invalid_request', 'org is required')
  const requestedScopes = request.scope?.split(' ') ?? []
  if (requestedScopes.length === 0 || requestedScopes.includes(''))
    return denyExchange('invalid_scope', 'scope is required, as scope names separated by single spaces')
  if (new Set(requestedScopes).size !== requestedScopes.length)
    return denyExchange('invalid_scope', 'scope contains a duplicate')

  // Rule 4: the user and the subject token.
  if (facts.userStatus !== 'active') return denyExchange('invalid_request', 'the user of subject_token is not active')
  const lifetime = Math.min(
    policy?.max_access_token_age ?? limits.maxExchangedTokenLifetimeSeconds,
    limits.maxExchangedTokenLifetimeSeconds,
    subject.exp - now,
  )
  if (lifetime < 1) return denyExchange('invalid_request', 'subject_token has expired')
  const sources = subject_resources.filter((entry) => subject.audiences.includes(entry.resource))
  if (sources.length === 0)
    return denyExchange(
      'invalid_request',
      'the audience of subject_token is not one of the subject resources of this client',
    )
  const targets = target_resources.filter((entry) => entry.resource === resource)
  if (targets.length === 0)
    return denyExchange('invalid_target', 'resource is not one of the target resources of this client')

  // Rule 2: the organization, checked against the token, the restrictions of both clients and the membership.
  if (!subject.orgIds.includes(org) || (subject.orgId !== undefined && subject.orgId !== org)) {
    return denyExchange('invalid_request', 'org is not an organization of subject_token')
  }
  if (!mayDiscloseOrganization(subject.restriction, org, subject.orgId ?? null)) {
    return denyExchange('invalid_request', 'the client of subject_token has no access to this organization')
  }
  if (!maySelectOrganization(organizationRestrictionOf(actor.settings), org)) {
    return denyExchange('invalid_request', 'this client cannot select this organization')
  }
  if (memberScopes === null)
    return denyExchange('invalid_grant', 'the user is not an active member of this organization')

  // Rule 4: the subject token, both lists of the policy and the membership must all contain each requested scope.
  const scopeSets = [subject.scopes, sources.flatMap(scopesOf), targets.flatMap(scopesOf), memberScopes]
  const isGrantable = (name: string) =>
    exchangeableScopePattern.test(name) && scopeSets.every((set) => set.includes(name))
  if (!requestedScopes.every(isGrantable))
    return denyExchange('invalid_scope', 'not all of the requested scopes can be granted')
  return { error: null, audience: resource, scopes: requestedScopes, orgId: org, lifetime }
}

const scopesOf = ({ scopes }: { scopes: string[] }): string[] => scopes
