/** The results of modules that do not pass, with the reasons. A module that is not in this table has to pass. */
import type { ModuleResult } from './run-plan.js'

export interface ExpectedResult {
  result: string
  /** Completes a row of docs/conformance.md. */
  reason: string
  /** The conditions of the suite that are not met. Others are unexpected. */
  conditions?: readonly string[]
  /** Text of the page of Gatehouse of which the suite has the picture; only for `REVIEW`. */
  page?: string
}

/** A module whose last step is a picture of a page, which a person compares with the expectation of the suite. */
const review = (page: string): ExpectedResult => ({
  result: 'REVIEW',
  reason: 'The suite asks a person to check the picture of the page.',
  page,
})

const profileClaims: ExpectedResult = {
  result: 'WARNING',
  reason:
    'The scope `profile` contains five claims (`name`, `given_name`, `family_name`, `locale`, `picture`), not all ' +
    'fourteen of OpenID Connect Core section 5.4, which are optional.',
  conditions: ['VerifyScopesReturnedInUserInfoClaims'],
}

const unregisteredRedirectUri = review('redirect_uri')
const signedOut = review('You are signed out')

export const expectedResults: Readonly<Record<string, ExpectedResult>> = {
  'oidcc-scope-profile': profileClaims,
  'oidcc-scope-all': profileClaims,
  'oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported': {
    result: 'SKIPPED',
    reason: 'Request objects are optional. Gatehouse refuses them with `request_not_supported`.',
  },
  'fapi2-security-profile-final-test-claims-parameter-identity-claims': {
    result: 'WARNING',
    reason:
      'The suite does not know the claim `sid` of ID tokens, which OpenID Connect Back-Channel Logout 1.0 section 2.1 ' +
      'describes.',
    conditions: ['CheckForUnexpectedClaimsInIdToken'],
  },
  'oidcc-prompt-login': review('Sign in'),
  'oidcc-max-age-1': review('Sign in'),
  'oidcc-ensure-registered-redirect-uri': unregisteredRedirectUri,
  'oidcc-redirect-uri-query-added': unregisteredRedirectUri,
  'oidcc-ensure-request-object-with-redirect-uri': unregisteredRedirectUri,
  'oidcc-rp-initiated-logout-bad-post-logout-redirect-uri': review('post_logout_redirect_uri'),
  'oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri': review('post_logout_redirect_uri'),
  'oidcc-rp-initiated-logout-modified-id-token-hint': review('id_token_hint'),
  'oidcc-rp-initiated-logout-bad-id-token-hint': review('id_token_hint'),
  'oidcc-rp-initiated-logout-no-id-token-hint': signedOut,
  'oidcc-rp-initiated-logout-no-params': signedOut,
  'oidcc-rp-initiated-logout-only-state': signedOut,
  'oidcc-rp-initiated-logout-no-post-logout-redirect-uri': signedOut,
}

/**
 * Compares the result of a module with the table.
 * @returns why the result is unexpected; undefined if it is expected
 */
export function unexpected({ module, result, messages, pageText }: ModuleResult): string | undefined {
  const { result: expected = 'PASSED', conditions = [], page } = expectedResults[module] ?? {}
  const others = messages.filter((message) => !conditions.some((name) => message.startsWith(`${name}: `)))
  if (result !== expected) return [`expected ${expected}`, ...messages].join('; ')
  if (others.length > 0) return others.join('; ')
  if (page !== undefined && !pageText?.includes(page))
    return `the page does not contain "${page}": ${pageText ?? 'no page'}`
  return undefined
}
