/** Health findings of the current issuer or account, and the pages of the console that they concern. */
import { accountHealth, issuerHealth } from 'documents/health'
import type { FindingFieldsFragment } from 'documents/types'
import { accountHref, issuerHref, useConsoleContext } from '../console-context'
import { useQuery } from '../graphql/hooks'
import type { RequestError } from '../graphql/request-error'

export type Finding = FindingFieldsFragment

/** The types on which findings depend. After a mutation that returns one of them, the findings are refetched. */
const issuerTypenames = ['Issuer', 'AuthMethod', 'Client', 'User', 'Verifier', 'HealthFinding']
const accountTypenames = ['Account', 'OrganizationMember', 'Webhook', 'Domain', 'HealthFinding']

export interface FindingsResult {
  /** Undefined while the findings are being loaded, and if they could not be loaded. */
  findings: readonly Finding[] | undefined
  /** The error if the findings could not be loaded. */
  error: RequestError | undefined
  /** Loads the findings again. */
  refetch(): void
}

/** Returns the findings of the open issuer, or of the account if no issuer is open. */
export function useFindings(): FindingsResult {
  const { accountId, issuerId } = useConsoleContext()
  const issuerQuery = useQuery(
    issuerHealth,
    { accountId, issuerId },
    { pause: issuerId === '', typename: issuerTypenames },
  )
  const accountQuery = useQuery(accountHealth, { accountId }, { pause: issuerId !== '', typename: accountTypenames })
  const { error, refetch } = issuerId === '' ? accountQuery : issuerQuery
  const findings = (issuerId === '' ? accountQuery.data?.account.health : issuerQuery.data?.issuer.health) ?? undefined
  return { findings, error: findings ? undefined : error, refetch }
}

/**
 * The pages of the console, by prefix of the path of a finding. The first match is used. If a slash follows the
 * prefix, the rest is the id of a resource.
 */
const pagesByPathPrefix = [
  ['settings.signup', 'settings/sign-up'],
  ['settings.security.openid_policy', 'settings/protocol'],
  ['settings.security', 'settings/security'],
  ['settings.sessions', 'settings/security'],
  ['settings.branding', 'settings/branding'],
  ['settings', 'settings'],
  ['auth_methods', 'authentication'],
  ['clients', 'clients'],
  ['signing_keys', 'signing-keys'],
  ['owner_user_id', 'administrators'],
  ['webhooks', 'webhooks'],
] as const

/** Returns a function that returns the path, below /console, of the page of a finding's setting or resource. */
export function useFindingHref(): (finding: Finding) => string {
  const { accountId, issuerId } = useConsoleContext()
  const base = issuerId === '' ? accountHref(accountId) : issuerHref(accountId, issuerId)
  return ({ path }) => {
    // The URL of a domain's page contains the id of the domain, but the finding contains only its host name.
    if (path.startsWith('domains/')) return `${base}/domains`
    const [start, page] = pagesByPathPrefix.find(([start]) => path.startsWith(start)) ?? [path, '']
    const id = path.startsWith(`${start}/`) ? path.slice(start.length) : ''
    return `${base}/${page}${id}`
  }
}

/** For findings that can be fixed on another page than that of their path: that page, and the text of the link. */
const fixPages: Partial<Record<Finding['code'], readonly [page: string, label: string]>> = {
  SIGN_UP_WITHOUT_METHOD: ['authentication', 'Open authentication methods'],
  MFA_WITHOUT_METHOD: ['authentication', 'Open authentication methods'],
  MFA_USERS_WITHOUT_FACTOR: ['users', 'Open users'],
  LOOPBACK_REDIRECT_URI: ['settings/security', 'Open the rules for redirect URIs'],
  REDIRECT_URI_REFUSED: ['settings/security', 'Open the rules for redirect URIs'],
}

/** Returns a function that returns the link of a finding in `fixPages`, or undefined if it has none. */
export function useFixLink(): (finding: Finding) => { href: string; label: string } | undefined {
  const { accountId, issuerId } = useConsoleContext()
  return ({ code }) => {
    const [page, label] = fixPages[code] ?? []
    return page && label ? { href: `${issuerHref(accountId, issuerId)}/${page}`, label } : undefined
  }
}

/** Returns true if a finding concerns a field or a value inside the field. */
export const isFindingForPath = (fieldPath: string, { path }: Finding): boolean =>
  path === fieldPath || path.startsWith(`${fieldPath}.`)
