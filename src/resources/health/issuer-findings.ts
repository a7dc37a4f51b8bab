/** The health findings of issuers (findings.ts). */
import { limits } from '../../kernel/limits.js'
import { truncateText } from '../../kernel/text.js'
import { DAY } from '../../kernel/time.js'
import { isLoopback } from '../../kernel/uri.js'
import { redirectUriRuleErrors } from '../clients/redirect-uri-rules.js'
import { signingAlgorithms, signingKeyAt } from '../issuer-keys.js'
import { isFirstFactorKind, readinessProblem } from '../issuers/auth-method-readiness.js'
import { upcomingKeys } from '../issuers/key-schedule.js'
import type { IssuerSettings } from '../issuers/settings.js'
import { isUpstreamKind } from '../issuers/upstream-settings.js'
import { defineFinding, type FindingRule } from './finding-definition.js'
import { type IssuerFacts, type Method } from './health-facts.js'
import { ineffectiveSettings } from './ineffective-settings.js'

const issuerFinding = defineFinding<IssuerFacts>()

const quoted = (name: string): string => `“${truncateText(name, 100)}”`
const methodPath = ({ id }: { id: string }): string => `auth_methods/${id}`
const clientPath = ({ id }: { id: string }): string => `clients/${id}`
const isoDate = (moment: number): string => new Date(moment).toISOString().slice(0, 10)
const sampleMethod = { id: '{id}', name: 'Acme login' }
const sampleClient = { id: '{id}', name: 'Shop' }
const sampleMail = { path: 'auth_methods/{id}', what: `The authentication method ${quoted('Email code')}` }
const MFA = 'settings.security.mfa_required'

const requiresMfa = ({ security }: IssuerSettings): boolean => security?.mfa_required === true
const isMail = ({ method }: Method): boolean => method === 'email_otp' || method === 'email_link'
const isEnabled = ({ enabledLogin, enabledSignup }: Method): boolean => enabledLogin || enabledSignup
const allowsSignUp = (method: Method): boolean =>
  method.enabledSignup &&
  isFirstFactorKind(method.method) &&
  !readinessProblem(method) &&
  // A sign-up with a federated method is the first sign-in, so the method must allow sign-in.
  (method.enabledLogin || !isUpstreamKind(method.method))

/**
 * Returns whether the settings open sign-up explicitly. Sign-up is also open by default, but then it may not be
 * intended.
 */
const declaresOpenSignUp = ({ signup = {} }: IssuerSettings): boolean =>
  signup.mode !== 'invite_only' &&
  (signup.mode === 'open' ||
    signup.require_admin_approval === true ||
    signup.require_email_verification === true ||
    (signup.allowed_domains ?? []).length > 0)

/** Returns the methods and settings that need email. */
function mailDependencies({ methods, settings }: IssuerFacts): { path: string; what: string }[] {
  const signUpNeedsMail = settings.signup?.require_email_verification === true && methods.some(allowsSignUp)
  return [
    ...methods
      .filter((method) => isMail(method) && isEnabled(method))
      .map((method) => ({ path: methodPath(method), what: `The authentication method ${quoted(method.name)}` })),
    ...(signUpNeedsMail ? [{ path: 'settings.signup.require_email_verification', what: 'Sign-up' }] : []),
  ]
}

export const issuerFindings = {
  NO_SIGN_IN_METHOD: issuerFinding({
    severity: 'ERROR',
    reads: ['methods', 'clients'],
    when: 'no authentication method can be the first factor of a sign-in, and an active client sends users to the sign-in page',
    find: ({ methods, clients }) =>
      clients.signUsersIn &&
      !methods.some((method) => method.enabledLogin && isFirstFactorKind(method.method) && !readinessProblem(method))
        ? [null]
        : [],
    path: () => 'auth_methods',
    message: () => 'Clients send users to this issuer, but no usable authentication method is enabled for sign-in.',
    fix: () => 'Add an authentication method, or set enabled_login of an existing one to true.',
    example: null,
  }),

  AUTH_METHOD_NOT_READY: issuerFinding({
    severity: 'ERROR',
    reads: ['methods'],
    when: 'an enabled authentication method has incomplete settings, so the sign-in page does not offer it',
    find: ({ methods }) =>
      methods.filter(isEnabled).flatMap((method) => {
        const reason = readinessProblem(method)
        return reason ? [{ id: method.id, name: method.name, ...reason }] : []
      }),
    path: methodPath,
    message: ({ name, problem }) => `${quoted(name)} is enabled, but the sign-in page does not offer it: ${problem}`,
    fix: ({ fix }) => fix,
    example: { ...sampleMethod, problem: 'client_secret is missing.', fix: 'Add client_secret to the settings.' },
  }),

  AUTH_METHOD_REDIRECT_URI: issuerFinding({
    severity: 'WARNING',
    reads: ['methods'],
    when: 'the `redirect_uri` of an enabled `oauth2` method is not the redirect URI of that method at this issuer',
    find: ({ methods }) =>
      methods.flatMap((method) => {
        const uri = method.settings['redirect_uri']
        if (method.method !== 'oauth2' || !isEnabled(method) || typeof uri !== 'string') return []
        return new URL(uri).pathname.endsWith(`/callback/${method.id}`) ? [] : [{ id: method.id, name: method.name }]
      }),
    path: methodPath,
    message: ({ name }) =>
      `The redirect_uri of ${quoted(name)} is not the callback URL of this method, so the provider does not return users to the sign-in page.`,
    fix: () =>
      'Set settings.redirect_uri to the callback URL of the method (callbackUrl in GraphQL), and register that URL with the provider.',
    example: sampleMethod,
  }),

  MAIL_NOT_CONFIGURED: issuerFinding({
    severity: 'ERROR',
    reads: ['methods'],
    when: 'the deployment is public and `MAIL_URL` is not set, and a method or setting sends email',
    find: (facts, { isPublic, sendsMail }) => (isPublic && !sendsMail ? mailDependencies(facts) : []),
    path: ({ path }) => path,
    message: ({ what }) => `${what} needs email, but this deployment cannot send email because MAIL_URL is not set.`,
    fix: () => 'Set MAIL_URL and MAIL_FROM of the deployment, or disable the method or setting.',
    example: sampleMail,
  }),

  MAIL_IN_DEVELOPMENT_INBOX: issuerFinding({
    severity: 'INFO',
    reads: ['methods'],
    when: 'the deployment is not public and `MAIL_URL` is not set, so email of a method or setting stays in the development inbox',
    find: (facts, { isPublic, sendsMail }) => (!isPublic && !sendsMail ? mailDependencies(facts) : []),
    path: ({ path }) => path,
    message: ({ what }) =>
      `${what} needs email, which stays in the development inbox at /dev/mail because MAIL_URL is not set.`,
    fix: () => 'Set MAIL_URL and MAIL_FROM of the deployment before other people use it.',
    example: sampleMail,
  }),

  SIGN_UP_WITHOUT_METHOD: issuerFinding({
    severity: 'WARNING',
    reads: ['methods'],
    when: 'the `signup` settings open sign-up explicitly, but no authentication method allows sign-up',
    find: ({ settings, methods }) => (declaresOpenSignUp(settings) && !methods.some(allowsSignUp) ? [null] : []),
    path: () => 'settings.signup.mode',
    message: () =>
      'Sign-up is open, but no authentication method allows sign-up, so the sign-in page does not offer it.',
    fix: () => 'Set enabled_signup of an authentication method to true, or settings.signup.mode to invite_only.',
    example: null,
  }),

  MFA_USERS_WITHOUT_FACTOR: issuerFinding({
    severity: 'WARNING',
    reads: ['usersWithoutFactor'],
    when: `\`mfa_required\` is true, but active users have no second factor (among the newest ${limits.maxHealthCheckedUsers.toLocaleString('en-US')} users)`,
    find: ({ settings, usersWithoutFactor }) =>
      requiresMfa(settings) && usersWithoutFactor > 0 ? [usersWithoutFactor] : [],
    path: () => MFA,
    message: (count) =>
      `Multi-factor authentication is required, but ${count === 1 ? '1 active user has' : `${count} active users have`} no second factor. Users set up a second factor at their next sign-in. Until then, anyone who has the first factor of such a user can sign in and set up the second factor.`,
    fix: () => 'Ask these users to sign in and set up a second factor, or suspend users who do not need access.',
    example: 12,
  }),

  MFA_WITHOUT_METHOD: issuerFinding({
    severity: 'INFO',
    reads: ['methods'],
    when: '`mfa_required` is true, but no authentication method for a second factor is enabled',
    find: ({ settings, methods }) =>
      requiresMfa(settings) &&
      !methods.some(({ method, enabledLogin }) => enabledLogin && (method === 'totp' || method === 'passkey'))
        ? [null]
        : [],
    path: () => MFA,
    message: () =>
      'Multi-factor authentication is required, but no authentication method for a second factor is enabled. Until one is enabled, Gatehouse asks users to set up an authenticator app and backup codes.',
    fix: () =>
      'Add an authentication method of kind totp or passkey, so that you decide which second factors users can set up.',
    example: null,
  }),

  SETTING_WITHOUT_EFFECT: issuerFinding({
    severity: 'WARNING',
    reads: ['methods'],
    when: 'a key under `settings.security`, `settings.signup` or `settings.sessions` is unknown or has no effect because of another setting',
    find: ineffectiveSettings,
    path: ({ path }) => path,
    message: ({ path, reason }) => `${path} has no effect: it ${reason}.`,
    fix: ({ fix }) => fix,
    example: {
      path: 'settings.security.mfa_require',
      reason: 'is not a known setting',
      fix: 'Correct the name of the setting, or set the setting to null to remove it.',
    },
  }),

  LOOPBACK_REDIRECT_URI: issuerFinding({
    severity: 'WARNING',
    reads: ['clients'],
    when: 'the deployment is public, and a client that is not `native` has a redirect URI on `localhost`, `127.0.0.1` or `[::1]`',
    find: ({ clients }, { isPublic }) =>
      clients.relevantClients.flatMap(({ id, name, type, redirectUris }) => {
        const uri = redirectUris.find((one) => URL.canParse(one) && isLoopback(new URL(one).hostname))
        return isPublic && type !== 'native' && uri !== undefined ? [{ id, name, uri }] : []
      }),
    path: clientPath,
    message: ({ name, uri }) =>
      `The client ${quoted(name)} has the loopback redirect URI ${truncateText(uri, 200)}. Any program on a user’s computer can receive its authorization codes.`,
    fix: () =>
      'Remove the loopback URI from settings.openid.redirect_uris and use a separate client for development. To reject such URIs, set settings.security.redirect_uri_rules.allow_loopback of the issuer to false.',
    example: { ...sampleClient, uri: 'http://localhost:5173/callback' },
  }),

  REDIRECT_URI_REFUSED: issuerFinding({
    severity: 'WARNING',
    reads: ['clients'],
    when: 'a client has a redirect URI that violates `redirect_uri_rules`; the URI still works, but the settings of the client cannot be changed until it is removed',
    find: ({ settings, clients }) =>
      clients.relevantClients.flatMap(({ id, name, redirectUris, postLogoutRedirectUris }) => {
        const lists = { redirect_uris: redirectUris, post_logout_redirect_uris: postLogoutRedirectUris }
        const [violation] = Object.entries(lists).flatMap(([key, list]) =>
          redirectUriRuleErrors(settings.security?.redirect_uri_rules, `settings.openid.${key}`, list),
        )
        return violation ? [{ id, name, problem: `${violation.field} ${violation.message}` }] : []
      }),
    path: clientPath,
    message: ({ name, problem }) =>
      `The client ${quoted(name)} has a URI that the redirect URI rules of the issuer no longer allow. The URI still works, but changes of the client’s settings are refused until the URI is removed. Details: ${problem}`,
    fix: () => 'Remove the redirect URI from the client, or change settings.security.redirect_uri_rules of the issuer.',
    example: {
      ...sampleClient,
      problem:
        'settings.openid.redirect_uris[0] is not allowed: settings.security.redirect_uri_rules.allow_loopback of the issuer refuses http://localhost/callback: loopback hosts are not allowed.',
    },
  }),

  CLIENT_SECRET_OLD: issuerFinding({
    severity: 'WARNING',
    reads: ['clients'],
    when: 'the secret of an active client has been in use for more than a year',
    find: ({ clients }, { now }) =>
      clients.relevantClients.flatMap(({ id, name, secretSetAt }) =>
        secretSetAt !== null && secretSetAt < now - limits.oldClientSecretAge
          ? [{ id, name, since: isoDate(secretSetAt) }]
          : [],
      ),
    path: clientPath,
    message: ({ name, since }) =>
      `The secret of the client ${quoted(name)} has been in use since ${since}, which is more than a year.`,
    fix: () => 'Rotate the secret. The old secret stays valid for 15 minutes.',
    example: { ...sampleClient, since: '2025-03-01' },
  }),

  SIGNING_KEYS_NOT_ROTATED: issuerFinding({
    severity: 'WARNING',
    reads: ['keys'],
    when: 'the monthly rotation of the signing keys is more than one day late',
    find({ keys }, { now }) {
      const late = signingAlgorithms.flatMap((alg) => {
        const current = signingKeyAt(keys, alg, now)
        const isLate = current && current.signsFrom + DAY < now && upcomingKeys(keys, alg, now).length === 0
        return isLate ? [{ alg, since: current.signsFrom }] : []
      })
      const [first] = late
      return first ? [{ algorithms: late.map(({ alg }) => alg).join(', '), since: isoDate(first.since) }] : []
    },
    path: () => 'signing_keys',
    message: ({ algorithms, since }) =>
      `The current signing keys (${algorithms}) have been signing since ${since}, and no next key has been published: the periodic job rotate-keys does not run or fails.`,
    fix: () =>
      'As the operator of the deployment, check the output of `gatehouse jobs list`, make sure that a process runs jobs, and run `gatehouse jobs run rotate-keys`.',
    example: { algorithms: 'ES256, EdDSA, RS256', since: '2026-09-30' },
  }),
} as const satisfies Record<string, FindingRule<IssuerFacts>>
