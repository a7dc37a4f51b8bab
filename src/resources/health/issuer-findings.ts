/** Findings about issuers: see findings.ts. */
import { startOf } from '../../kernel/text.js'
import { DAY } from '../../kernel/time.js'
import { isLoopback } from '../../kernel/uri.js'
import { ruleFaults } from '../clients/redirect-uri-rules.js'
import { signingAlgorithms, signingKeyAt } from '../issuer-keys.js'
import { upcomingKeys } from '../issuers/key-schedule.js'
import { isSignIn, notReady } from '../issuers/readiness.js'
import type { IssuerSettings } from '../issuers/settings.js'
import { isUpstreamKind } from '../issuers/upstream-settings.js'
import { type IssuerFacts, type Method, SECRET_AGE, USERS } from './facts.js'
import { type FindingRow, findingRow } from './finding.js'
import { idleSettings } from './idle-settings.js'

const ofIssuer = findingRow<IssuerFacts>()

const quoted = (name: string): string => `“${startOf(name, 100)}”`
const methodPath = ({ id }: { id: string }): string => `auth_methods/${id}`
const clientPath = ({ id }: { id: string }): string => `clients/${id}`
const dayOf = (moment: number): string => new Date(moment).toISOString().slice(0, 10)
const sampleMethod = { id: '{id}', name: 'Acme login' }
const sampleClient = { id: '{id}', name: 'Shop' }
const sampleMail = { path: 'auth_methods/{id}', what: `The authentication method ${quoted('Email code')}` }
const MFA = 'settings.security.mfa_required'

const requiresFactors = ({ security }: IssuerSettings): boolean => security?.mfa_required === true
const isMail = ({ method }: Method): boolean => method === 'email_otp' || method === 'email_link'
const isEnabled = ({ enabledLogin, enabledSignup }: Method): boolean => enabledLogin || enabledSignup
const signsUp = (method: Method): boolean =>
  method.enabledSignup &&
  isSignIn(method.method) &&
  !notReady(method) &&
  // People come to an account by another provider with their first sign-in.
  (method.enabledLogin || !isUpstreamKind(method.method))

/** Sign-up is open and somebody has said so, or has said who may. Unsaid it is open as well, which then means nothing. */
const wantsSignUp = ({ signup = {} }: IssuerSettings): boolean =>
  signup.mode !== 'invite_only' &&
  (signup.mode === 'open' ||
    signup.require_admin_approval === true ||
    signup.require_email_verification === true ||
    (signup.allowed_domains ?? []).length > 0)

/** What asks for mail: methods that send codes or links, and sign-up with a confirmed address. */
function needsMail({ methods, settings }: IssuerFacts): { path: string; what: string }[] {
  const confirmed = settings.signup?.require_email_verification === true && methods.some(signsUp)
  return [
    ...methods
      .filter((method) => isMail(method) && isEnabled(method))
      .map((method) => ({ path: methodPath(method), what: `The authentication method ${quoted(method.name)}` })),
    ...(confirmed ? [{ path: 'settings.signup.require_email_verification', what: 'Sign-up' }] : []),
  ]
}

export const issuerFindings = {
  NO_SIGN_IN_METHOD: ofIssuer({
    severity: 'ERROR',
    reads: ['methods', 'clients'],
    when: 'no authentication method can begin a sign-in, and an active client sends users to the sign-in page',
    find: ({ methods, clients }) =>
      clients.signUsersIn &&
      !methods.some((method) => method.enabledLogin && isSignIn(method.method) && !notReady(method))
        ? [null]
        : [],
    path: () => 'auth_methods',
    message: () => 'Applications send users to this issuer, and no authentication method is enabled to sign them in.',
    fix: () => 'Add an authentication method, or set enabled_login of one to true.',
    example: null,
  }),

  AUTH_METHOD_NOT_READY: ofIssuer({
    severity: 'ERROR',
    reads: ['methods'],
    when: 'an enabled authentication method lacks settings; the sign-in page does not offer it',
    find: ({ methods }) =>
      methods.filter(isEnabled).flatMap((method) => {
        const reason = notReady(method)
        return reason ? [{ id: method.id, name: method.name, ...reason }] : []
      }),
    path: methodPath,
    message: ({ name, problem }) => `${quoted(name)} is enabled and is not offered on the sign-in page: ${problem}`,
    fix: ({ fix }) => fix,
    example: { ...sampleMethod, problem: 'client_secret is missing.', fix: 'Add it to the settings.' },
  }),

  AUTH_METHOD_REDIRECT_URI: ofIssuer({
    severity: 'WARNING',
    reads: ['methods'],
    when: 'the `redirect_uri` of an enabled `oauth2` method is not the callback address of that method',
    find: ({ methods }) =>
      methods.flatMap((method) => {
        const uri = method.settings['redirect_uri']
        if (method.method !== 'oauth2' || !isEnabled(method) || typeof uri !== 'string') return []
        return new URL(uri).pathname.endsWith(`/callback/${method.id}`) ? [] : [{ id: method.id, name: method.name }]
      }),
    path: methodPath,
    message: ({ name }) =>
      `The redirect_uri of ${quoted(name)} is not the callback address of this method, so users who sign in with it do not come back.`,
    fix: () =>
      'Set settings.redirect_uri to the callback address of the method (callbackUrl in GraphQL), and register that address with the provider.',
    example: sampleMethod,
  }),

  MAIL_NOT_CONFIGURED: ofIssuer({
    severity: 'ERROR',
    reads: ['methods'],
    when: 'the deployment is public and `MAIL_URL` is not set, and a method or setting sends mail',
    find: (facts, { isPublic, sendsMail }) => (isPublic && !sendsMail ? needsMail(facts) : []),
    path: ({ path }) => path,
    message: ({ what }) => `${what} sends mail, and this deployment does not send any: MAIL_URL is not set.`,
    fix: () => 'Set MAIL_URL and MAIL_FROM of the deployment, or disable what needs mail.',
    example: sampleMail,
  }),

  MAIL_IN_DEVELOPMENT_INBOX: ofIssuer({
    severity: 'INFO',
    reads: ['methods'],
    when: 'the same on a deployment whose addresses are loopback addresses, where mail is kept in the development inbox',
    find: (facts, { isPublic, sendsMail }) => (!isPublic && !sendsMail ? needsMail(facts) : []),
    path: ({ path }) => path,
    message: ({ what }) =>
      `${what} sends mail, and mail stays in the development inbox at /dev/mail: MAIL_URL is not set.`,
    fix: () => 'Set MAIL_URL and MAIL_FROM of the deployment before other people use it.',
    example: sampleMail,
  }),

  SIGN_UP_WITHOUT_METHOD: ofIssuer({
    severity: 'WARNING',
    reads: ['methods'],
    when: 'the `signup` settings say that sign-up is open, or for whom, and no authentication method allows it',
    find: ({ settings, methods }) => (wantsSignUp(settings) && !methods.some(signsUp) ? [null] : []),
    path: () => 'settings.signup.mode',
    message: () =>
      'Sign-up is open, and no authentication method allows it: the sign-in page does not offer to sign up.',
    fix: () => 'Set enabled_signup of an authentication method to true, or settings.signup.mode to invite_only.',
    example: null,
  }),

  MFA_USERS_WITHOUT_FACTOR: ofIssuer({
    severity: 'WARNING',
    reads: ['usersWithoutFactor'],
    when: `\`mfa_required\` is true, and active users have no second factor (of the newest ${USERS.toLocaleString('en-US')})`,
    find: ({ settings, usersWithoutFactor }) =>
      requiresFactors(settings) && usersWithoutFactor > 0 ? [usersWithoutFactor] : [],
    path: () => MFA,
    message: (count) =>
      `Multi-factor authentication is required, and ${count === 1 ? '1 active user has' : `${count} active users have`} no second factor. Until one is set up at the next sign-in, the first factor alone is enough to do so.`,
    fix: () => 'Ask these users to sign in and set up a second factor, or suspend those who do not need access.',
    example: 12,
  }),

  MFA_WITHOUT_METHOD: ofIssuer({
    severity: 'INFO',
    reads: ['methods'],
    when: '`mfa_required` is true, and no method for a second factor is enabled',
    find: ({ settings, methods }) =>
      requiresFactors(settings) &&
      !methods.some(({ method, enabledLogin }) => enabledLogin && (method === 'totp' || method === 'passkey'))
        ? [null]
        : [],
    path: () => MFA,
    message: () =>
      'Multi-factor authentication is required, and no authentication method for a second factor is enabled. The sign-in page has users set up an authenticator app and backup codes.',
    fix: () => 'Add an authentication method of kind totp or passkey to choose what users set up.',
    example: null,
  }),

  SETTING_WITHOUT_EFFECT: ofIssuer({
    severity: 'WARNING',
    reads: ['methods'],
    when: 'a key under `settings.security`, `settings.signup` or `settings.sessions` is unknown, or another setting rules it out',
    find: idleSettings,
    path: ({ path }) => path,
    message: ({ path, reason }) => `${path} has no effect: it ${reason}.`,
    fix: ({ fix }) => fix,
    example: {
      path: 'settings.security.mfa_require',
      reason: 'is not a known setting',
      fix: 'Correct its name, or set it to null to remove it.',
    },
  }),

  LOOPBACK_REDIRECT_URI: ofIssuer({
    severity: 'WARNING',
    reads: ['clients'],
    when: 'the deployment is public, and a client that is not `native` has a redirect URI on `localhost`, `127.0.0.1` or `[::1]`',
    find: ({ clients }, { isPublic }) =>
      clients.noted.flatMap(({ id, name, type, redirectUris }) => {
        const uri = redirectUris.find((one) => URL.canParse(one) && isLoopback(new URL(one).hostname))
        return isPublic && type !== 'native' && uri !== undefined ? [{ id, name, uri }] : []
      }),
    path: clientPath,
    message: ({ name, uri }) =>
      `The client ${quoted(name)} has the loopback redirect URI ${startOf(uri, 200)}: any program on a user’s computer can receive its authorization codes.`,
    fix: () =>
      'Remove it from settings.openid.redirect_uris and use a separate client for development. To refuse such URIs, set settings.security.redirect_uri_rules.allow_loopback of the issuer to false.',
    example: { ...sampleClient, uri: 'http://localhost:5173/callback' },
  }),

  REDIRECT_URI_REFUSED: ofIssuer({
    severity: 'WARNING',
    reads: ['clients'],
    when: 'a client has a redirect URI that `redirect_uri_rules` refuse; it keeps working until the client changes',
    find: ({ settings, clients }) =>
      clients.noted.flatMap(({ id, name, redirectUris, postLogoutRedirectUris }) => {
        const lists = { redirect_uris: redirectUris, post_logout_redirect_uris: postLogoutRedirectUris }
        const [fault] = Object.entries(lists).flatMap(([key, list]) =>
          ruleFaults(settings.security?.redirect_uri_rules, `settings.openid.${key}`, list),
        )
        return fault ? [{ id, name, fault: `${fault.field} ${fault.message}` }] : []
      }),
    path: clientPath,
    message: ({ name, fault }) =>
      `A redirect URI of the client ${quoted(name)} was registered before a rule that refuses it, and still works: ${fault}`,
    fix: () => 'Remove the redirect URI from the client, or change settings.security.redirect_uri_rules of the issuer.',
    example: {
      ...sampleClient,
      fault:
        'settings.openid.redirect_uris[0] is not allowed: settings.security.redirect_uri_rules.allow_loopback of the issuer refuses http://localhost/callback: loopback hosts are not allowed.',
    },
  }),

  CLIENT_SECRET_OLD: ofIssuer({
    severity: 'WARNING',
    reads: ['clients'],
    when: 'the secret of an active client has been in use for more than a year',
    find: ({ clients }, { now }) =>
      clients.noted.flatMap(({ id, name, secretSetAt }) =>
        secretSetAt !== null && secretSetAt < now - SECRET_AGE ? [{ id, name, since: dayOf(secretSetAt) }] : [],
      ),
    path: clientPath,
    message: ({ name, since }) =>
      `The secret of the client ${quoted(name)} has been in use since ${since}, for more than a year.`,
    fix: () => 'Rotate the secret. The old one stays valid for 15 minutes.',
    example: { ...sampleClient, since: '2025-03-01' },
  }),

  SIGNING_KEYS_NOT_ROTATED: ofIssuer({
    severity: 'WARNING',
    reads: ['keys'],
    when: 'the monthly rotation of the signing keys is more than a day late',
    find({ keys }, { now }) {
      const late = signingAlgorithms.flatMap((alg) => {
        const current = signingKeyAt(keys, alg, now)
        const isLate = current && current.signsFrom + DAY < now && upcomingKeys(keys, alg, now).length === 0
        return isLate ? [{ alg, since: current.signsFrom }] : []
      })
      const [first] = late
      return first ? [{ algorithms: late.map(({ alg }) => alg).join(', '), since: dayOf(first.since) }] : []
    },
    path: () => 'signing_keys',
    message: ({ algorithms, since }) =>
      `The current signing keys (${algorithms}) sign since ${since}, and no next key has been published since: the periodic job rotate-keys does not run.`,
    fix: () =>
      'The operator of the deployment should look at gatehouse jobs list, keep a process running that runs jobs, and run gatehouse jobs run rotate-keys.',
    example: { algorithms: 'ES256, EdDSA, RS256', since: '2026-09-30' },
  }),
} as const satisfies Record<string, FindingRow<IssuerFacts>>
