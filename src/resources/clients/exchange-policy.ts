/**
 * Who gets what out of a token exchange (spec 4.18): one pure function over facts that were read for this request. It
 * refuses in the order of the spec's rules and grants all that was asked for or nothing.
 */
import { mayLearnOf, maySelect, type OrganizationRestriction, restrictionOf } from './organization-restriction.js'
import { type ClientSettings, isActor } from './settings.js'

/** What the actor asks for. */
export interface ExchangeRequest {
  resource: string | undefined
  /** As it came: names with a space between each two. */
  scope: string | undefined
  org: string | undefined
}

/** What is so at this moment. Times in Unix seconds. */
export interface ExchangeFacts {
  now: number
  /** Undefined when there is no such client any more. */
  actor: { status: string; confidential: boolean; settings: ClientSettings } | undefined
  /** The verified claims of the subject token. */
  subject: {
    audiences: readonly string[]
    scopes: readonly string[]
    exp: number
    /** Organizations that it names. */
    orgIds: readonly string[]
    /** The one that was selected when it was made. */
    orgId: string | undefined
    /** Of the client that it was issued to, as it is now (decisions D33). */
    restriction: OrganizationRestriction
  }
  userStatus: string | undefined
  /** The user's effective scopes in the organization that is asked for; null when the membership does not count now. */
  memberScopes: readonly string[] | null
}

/** RFC 6749 5.2, RFC 8693 2.2.2. */
export type ExchangeError =
  | 'unauthorized_client'
  | 'invalid_request'
  | 'invalid_grant'
  | 'invalid_target'
  | 'invalid_scope'

export type ExchangeDecision =
  | { error: ExchangeError; description: string }
  | { error: null; audience: string; scopes: string[]; orgId: string; lifetime: number }

/** In seconds. */
export const MAX_EXCHANGED_AGE = 300

/** Rule 4: a thing, parts of it, and one action; no role, no OpenID scope, no wildcard, not everything. */
const concrete = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*:(read|write|delete|manage)$/

const refused = (error: ExchangeError, description: string): ExchangeDecision => ({ error, description })

/** Decides one exchange. */
export function decideExchange(request: ExchangeRequest, facts: ExchangeFacts): ExchangeDecision {
  const { actor, subject, memberScopes, now } = facts
  // Rule 3: the actor, as it is now.
  const policy = actor?.settings.openid?.token_exchange
  const { subject_resources = [], target_resources = [] } = policy ?? {}
  if (actor?.status !== 'active' || !isActor(actor)) {
    return refused('unauthorized_client', 'this client cannot exchange tokens')
  }
  if (subject_resources.length === 0 || target_resources.length === 0) {
    return refused('unauthorized_client', 'this client has nothing that it may exchange tokens for')
  }

  // Rule 2: what is asked for, each once.
  const { resource, org } = request
  if (resource === undefined) return refused('invalid_request', 'resource is required')
  if (org === undefined) return refused('invalid_request', 'org is required')
  const wanted = request.scope?.split(' ') ?? []
  if (wanted.length === 0 || wanted.includes('')) return refused('invalid_scope', 'scope is required')
  if (new Set(wanted).size !== wanted.length) return refused('invalid_scope', 'scope names something twice')

  // Rule 4: the user, and the token that speaks for it.
  if (facts.userStatus !== 'active') return refused('invalid_request', 'subject_token is not of an active user')
  const lifetime = Math.min(policy?.max_access_token_age ?? MAX_EXCHANGED_AGE, MAX_EXCHANGED_AGE, subject.exp - now)
  if (lifetime < 1) return refused('invalid_request', 'subject_token has expired')
  const sources = subject_resources.filter((entry) => subject.audiences.includes(entry.resource))
  if (sources.length === 0)
    return refused('invalid_request', 'subject_token is meant for a resource that is none of these')
  const targets = target_resources.filter((entry) => entry.resource === resource)
  if (targets.length === 0) return refused('invalid_target', 'this client may not get tokens for this resource')

  // Rule 2: the organization, by the token, by the restrictions of both clients, by the membership.
  if (!subject.orgIds.includes(org) || (subject.orgId !== undefined && subject.orgId !== org)) {
    return refused('invalid_request', 'org is not an organization of subject_token')
  }
  if (!mayLearnOf(subject.restriction, org, subject.orgId ?? null)) {
    return refused('invalid_request', 'the client of subject_token has no access to this organization')
  }
  if (!maySelect(restrictionOf(actor.settings), org)) {
    return refused('invalid_request', 'this client cannot select this organization')
  }
  if (memberScopes === null) return refused('invalid_grant', 'the user is not an active member of this organization')

  // Rule 4: every scope in all four, or none at all.
  const sets = [subject.scopes, sources.flatMap(scopesOf), targets.flatMap(scopesOf), memberScopes]
  const within = (name: string) => concrete.test(name) && sets.every((set) => set.includes(name))
  if (!wanted.every(within)) return refused('invalid_scope', 'not all of the requested scopes can be granted')
  return { error: null, audience: resource, scopes: wanted, orgId: org, lifetime }
}

const scopesOf = ({ scopes }: { scopes: string[] }): string[] => scopes
