/** What health finds at this place, and where in the console each finding can be fixed. */
import { accountHealth, issuerHealth } from 'documents/health'
import type { FindingFieldsFragment } from 'documents/types'
import { useAsk } from '../graphql/hooks'
import { accountHref, issuerHref, usePlace } from '../place'

export type Finding = FindingFieldsFragment

/** A change of one of these asks again. */
const ofIssuer = ['Issuer', 'AuthMethod', 'Client', 'User', 'Verifier', 'HealthFinding']
const ofAccount = ['Account', 'OrganizationMember', 'Webhook', 'Domain', 'HealthFinding']

/** The findings of the issuer, or outside of one those of the account; undefined until they are there. */
export function useFindings(): readonly Finding[] | undefined {
  const { accountId, issuerId } = usePlace()
  const issuer = useAsk(issuerHealth, { accountId, issuerId }, { pause: issuerId === '', typename: ofIssuer })
  const account = useAsk(accountHealth, { accountId }, { pause: issuerId !== '', typename: ofAccount })
  if (issuerId !== '') return issuer.data?.issuer.health ?? (issuer.fault && [])
  return account.data?.account.health ?? (account.fault && [])
}

/** Beginnings of paths, the longest first, and the pages that they lead to; what follows is the id of the thing. */
const pages = [
  ['settings.signup', 'settings/sign-up'],
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

/** Where a finding can be fixed, below /console. */
export function useFindingHref(): (finding: Finding) => string {
  const { accountId, issuerId } = usePlace()
  const base = issuerId === '' ? accountHref(accountId) : issuerHref(accountId, issuerId)
  return ({ path }) => {
    // A domain has its page by its id, which is not in the path.
    if (path.startsWith('domains/')) return `${base}/domains`
    const [start, page] = pages.find(([start]) => path.startsWith(start)) ?? [path, '']
    const id = path.startsWith(`${start}/`) ? path.slice(start.length) : ''
    return `${base}/${page}${id}`
  }
}

/** Findings that are fixed elsewhere than at the setting that they are about: the page and its name. */
const elsewhere: Partial<Record<Finding['code'], readonly [page: string, label: string]>> = {
  SIGN_UP_WITHOUT_METHOD: ['authentication', 'Open authentication methods'],
  MFA_WITHOUT_METHOD: ['authentication', 'Open authentication methods'],
  MFA_USERS_WITHOUT_FACTOR: ['users', 'Open users'],
  LOOPBACK_REDIRECT_URI: ['settings/security', 'Open the rules for redirect URIs'],
  REDIRECT_URI_REFUSED: ['settings/security', 'Open the rules for redirect URIs'],
}

/** The link of a finding that is shown at its setting, where there is one. */
export function useFixLink(): (finding: Finding) => { href: string; label: string } | undefined {
  const { accountId, issuerId } = usePlace()
  return ({ code }) => {
    const [page, label] = elsewhere[code] ?? []
    return page && label ? { href: `${issuerHref(accountId, issuerId)}/${page}`, label } : undefined
  }
}

/** Is the finding about this field, or something inside of it? */
export const isAbout = (fieldPath: string, { path }: Finding): boolean =>
  path === fieldPath || path.startsWith(`${fieldPath}.`)
