/**
 * Computes the permissions of an attacker (docs/security.md, "Authority"): the permissions of all principals that the
 * attacker can act as, with the secrets that the attacker knows and the hosts that the attacker controls. The
 * computation reads rows of the database and uses no authorization check of src/, so that tests can compare both.
 */
import { coversScope, isPlatformScope } from '../../src/kernel/scopes.js'
import { sha256 } from '../../src/platform/crypto/secrets.js'
import type { TestApp } from '../setup/start-app.js'

/** What the attacker knows and controls. */
export interface AttackerAssets {
  /** The attacker controls all email addresses and URLs that contain this host name. */
  host: string
  /** Known secrets, personal tokens and invitation tokens, in plain text. */
  secrets: Set<string>
  /** Verifiers whose secret the attacker knows: `updated_at` of the row with the known secret, by verifier id. */
  verifiers: Map<string, string>
  /** Ids of sessions whose tokens the attacker has. */
  sessions: Set<string>
}

/** Scopes at a resource path. Null as `issuerId` or `orgId` means all issuers or all organizations. */
export interface AttackerPermission {
  accountId: string
  issuerId: string | null
  orgId: string | null
  scopes: readonly string[]
  /** How the attacker obtained the scopes, for failure messages. */
  obtainedBy: string
}

type Rows = Awaited<ReturnType<typeof loadRows>>

async function loadRows({ gatehouse }: TestApp, accountIds: readonly string[]) {
  const { prisma } = gatehouse.database
  const where = { accountId: { in: [...accountIds] } }
  const organizations = { include: { members: { include: { groups: { include: { group: true } } } } } }
  const [keys, tokens, clients, agents, webhooks, sessions, issuers, domains, orgs, invitations, accounts] =
    await Promise.all([
      prisma.apiKey.findMany({ where: { ...where, status: 'active' } }),
      prisma.personalToken.findMany({ where: { ...where, status: 'active' }, include: { user: true } }),
      prisma.client.findMany({ where: { ...where, status: 'active' } }),
      prisma.agent.findMany({ where: { ...where, status: 'active' }, include: { verifiers: true } }),
      prisma.webhook.findMany({ where: { ...where, status: { in: ['active', 'failing'] } } }),
      prisma.session.findMany({ where: { ...where, status: 'active' } }),
      prisma.issuer.findMany({
        where: { ...where, status: 'active' },
        include: {
          authMethods: { where: { enabledLogin: true } },
          users: { where: { status: 'active' }, include: { verifiers: true } },
        },
      }),
      prisma.domain.findMany({ where: { ...where, verified: true, issuerId: { not: null } } }),
      prisma.organization.findMany({ where: { ...where, status: 'active' }, ...organizations }),
      prisma.organizationInvitation.findMany({ where: { ...where, status: 'pending' } }),
      prisma.account.findMany(),
    ])
  return { keys, tokens, clients, agents, webhooks, sessions, issuers, domains, orgs, invitations, accounts }
}

/** Returns all permissions that the attacker has through resources of these accounts. */
export async function attackerPermissions(
  app: TestApp,
  assets: AttackerAssets,
  accountIds: readonly string[],
): Promise<AttackerPermission[]> {
  const rows = await loadRows(app, accountIds)
  const hashes = new Set([...assets.secrets].map(sha256))
  return [
    ...permissionsOfApiKeys(rows, hashes),
    ...permissionsOfClientsAndAgents(rows, hashes, assets),
    ...permissionsOfPersonalTokens(rows, assets),
    ...permissionsOfUsers(rows, assets),
    ...permissionsOfInvitations(rows, hashes),
    ...rows.webhooks
      .filter(({ url }) => isAttackerControlled(url, assets))
      .map(({ accountId, id }) => ({
        accountId,
        issuerId: null,
        orgId: null,
        scopes: ['events:read'],
        obtainedBy: `webhook ${id}`,
      })),
  ]
}

const isAttackerControlled = (text: string, { host }: AttackerAssets): boolean => text.includes(host)

function permissionsOfApiKeys({ keys, orgs }: Rows, hashes: Set<string>): AttackerPermission[] {
  const known = keys.filter(({ secrets }) => (secrets as { hash: string }[]).some(({ hash }) => hashes.has(hash)))
  return known.flatMap(({ id, accountId, issuerId, orgId, restrictions }) => {
    const { scopes = ['svc:all'], issuer_ids, org_ids } = restrictions as Record<string, string[]>
    const permission = { accountId, issuerId, orgId, scopes, obtainedBy: `API key ${id}` }
    if (orgId !== null) return orgs.some((org) => org.id === orgId) ? [permission] : []
    if (org_ids)
      return org_ids.map((allowedId) => ({
        ...permission,
        orgId: allowedId,
        issuerId: orgs.find((org) => org.id === allowedId)?.issuerId ?? null,
      }))
    return issuer_ids ? issuer_ids.map((allowedId) => ({ ...permission, issuerId: allowedId })) : [permission]
  })
}

/**
 * Permissions of clients and agents whose secret the attacker knows or whose keys the attacker publishes, and of clients
 * with a redirect URI of the attacker.
 */
function permissionsOfClientsAndAgents(
  { clients, agents, issuers }: Rows,
  hashes: Set<string>,
  assets: AttackerAssets,
): AttackerPermission[] {
  const isIssuerActive = ({ issuerId }: { issuerId: string }) => issuers.some(({ id }) => id === issuerId)
  const ofClients = clients.filter(isIssuerActive).flatMap(({ id, accountId, issuerId, settings, secrets }) => {
    const { scopes = [], openid } = settings as {
      scopes?: string[]
      openid?: { redirect_uris?: string[]; jwks_uri?: string }
    }
    const known =
      (secrets as { hash: string }[]).some(({ hash }) => hashes.has(hash)) ||
      isAttackerControlled(openid?.jwks_uri ?? '', assets)
    const redirectsToAttacker = openid?.redirect_uris?.some((uri) => isAttackerControlled(uri, assets)) ?? false
    return known || redirectsToAttacker
      ? [{ accountId, issuerId, orgId: null, scopes, obtainedBy: `client ${id}` }]
      : []
  })
  const ofAgents = agents.filter(isIssuerActive).flatMap(({ id, accountId, issuerId, scopes, verifiers }) => {
    const known = verifiers.some(
      ({ hash, jwksUri }) => (hash !== null && hashes.has(hash)) || isAttackerControlled(jwksUri ?? '', assets),
    )
    return known ? [{ accountId, issuerId, orgId: null, scopes, obtainedBy: `agent ${id}` }] : []
  })
  return [...ofClients, ...ofAgents]
}

/** Returns the `jti` of a personal token; undefined for other texts. */
const jtiOf = (jwt: string): string | undefined => {
  const [, payload = ''] = jwt.split('.')
  try {
    return JSON.parse(Buffer.from(payload, 'base64url').toString()).jti
  } catch {
    return undefined
  }
}

function permissionsOfPersonalTokens(rows: Rows, { secrets }: AttackerAssets): AttackerPermission[] {
  const known = new Set([...secrets].map(jtiOf))
  return rows.tokens
    .filter(({ id, user }) => known.has(id) && user.status === 'active')
    .flatMap(({ id, user, scopes }) =>
      permissionsOfUser(rows, user, `personal token ${id}`).map((permission) => ({
        ...permission,
        scopes: scopes.filter((scope) => coversScope(permission.scopes, scope)),
      })),
    )
}

type Issuer = Rows['issuers'][number]
type User = Issuer['users'][number]

/** Permissions of users as whom the attacker can sign in, and of users of whom the attacker has a session. */
function permissionsOfUsers(rows: Rows, assets: AttackerAssets): AttackerPermission[] {
  const usersWithKnownSession = new Set(
    rows.sessions.filter(({ id }) => assets.sessions.has(id)).map(({ userId }) => userId),
  )
  return rows.issuers.flatMap((issuer) =>
    issuer.users.flatMap((user) => {
      const signInMethod = usersWithKnownSession.has(user.id) ? 'session' : signInMethodOf(rows, issuer, user, assets)
      return signInMethod ? permissionsOfUser(rows, user, `user ${user.username} by ${signInMethod}`) : []
    }),
  )
}

const federated = new Set(['oidc', 'oauth2', 'apple', 'github'])

/** Returns how the attacker completes a sign-in as this user; undefined if the attacker cannot. */
function signInMethodOf({ domains }: Rows, issuer: Issuer, user: User, assets: AttackerAssets): string | undefined {
  const offered = new Set(issuer.authMethods.map(({ method }) => method))
  const knows = ({ id, updatedAt }: User['verifiers'][number]) => assets.verifiers.get(id) === String(updatedAt)
  const address = user.usernameType === 'email' ? user.username : (user.profile as { email?: string }).email
  const acceptsMailbox = ['email_otp', 'email_link', 'password'].some((method) => offered.has(method))
  const mailHost = domains.find(({ issuerId }) => issuerId === issuer.id)?.host
  const attackerMethods = issuer.authMethods.filter(
    ({ method, settings }) => federated.has(method) && isAttackerControlled(JSON.stringify(settings), assets),
  )
  const canLinkByEmail = attackerMethods.some(
    ({ settings }) => (settings as { link_by_email?: boolean }).link_by_email !== false,
  )

  const first = user.verifiers.find(
    (verifier) => ['password', 'temporary_password', 'passkey'].includes(verifier.type) && knows(verifier),
  )
  const methods: [string, boolean][] = [
    [`a known ${first?.type}`, first !== undefined],
    ['the mailbox', acceptsMailbox && address !== undefined && isAttackerControlled(address, assets)],
    [
      'links in mails',
      acceptsMailbox && address !== undefined && mailHost !== undefined && isAttackerControlled(mailHost, assets),
    ],
    ['an upstream account', user.verifiers.some(({ methodId }) => attackerMethods.some(({ id }) => id === methodId))],
    ['a link by address', canLinkByEmail && address !== undefined && user.emailVerified],
  ]
  const method = methods.find(([, isPossible]) => isPossible)?.[0]
  if (method === undefined || first?.type === 'passkey') return method
  const second = user.verifiers.filter(
    ({ type }) => ['totp', 'passkey', 'backup_codes'].includes(type) && offered.has(type as never),
  )
  return second.length === 0 || second.some(knows) ? method : undefined
}

/** Returns the scopes of a member: default scopes, own scopes and scopes of groups. */
const scopesIn = (org: Rows['orgs'][number], member: Rows['orgs'][number]['members'][number]): string[] => [
  ...org.defaultMemberScopes,
  ...member.scopes,
  ...member.groups.flatMap(({ group }) => group.scopes),
]

/**
 * Returns the permissions of a user (docs/contract.md#access-tokens-at-the-core-api): for a user of the console issuer,
 * on the accounts that the user owns or administers; for other users, the user's scopes at the issuer.
 */
function permissionsOfUser(
  { accounts, orgs }: Rows,
  user: Pick<User, 'id' | 'accountId' | 'issuerId' | 'scopes'>,
  obtainedBy: string,
): AttackerPermission[] {
  const { id, accountId, issuerId, scopes } = user
  const owned = accounts
    .filter(({ ownerUserId }) => ownerUserId === id)
    .map((account) => ({ accountId: account.id, issuerId: null, orgId: null, scopes: ['svc:all'], obtainedBy }))
  const administered = orgs.flatMap((org) => {
    const account = accounts.find(({ adminOrgId }) => adminOrgId === org.id)
    const member = org.members.find(({ userId, status }) => userId === id && status === 'active')
    return account && member
      ? [{ accountId: account.id, issuerId: null, orgId: null, scopes: scopesIn(org, member), obtainedBy }]
      : []
  })
  const isConsole = accounts.some(({ adminOrgId }) => orgs.find((org) => org.id === adminOrgId)?.issuerId === issuerId)
  return [...owned, ...administered, ...(isConsole ? [] : [{ accountId, issuerId, orgId: null, scopes, obtainedBy }])]
}

/** Known invitation tokens to administrator organizations: a member has scopes on the account. */
function permissionsOfInvitations({ invitations, orgs, accounts }: Rows, hashes: Set<string>): AttackerPermission[] {
  return invitations.flatMap(({ id, orgId, tokenHash, scopes, groups }) => {
    const org = orgs.find((candidate) => candidate.id === orgId)
    const account = accounts.find(({ adminOrgId }) => adminOrgId === orgId)
    if (!org || !account || !hashes.has(tokenHash)) return []
    const byGroups = org.members.flatMap((member) => member.groups).filter(({ groupId }) => groups.includes(groupId))
    const grantedScopes = [...org.defaultMemberScopes, ...scopes, ...byGroups.flatMap(({ group }) => group.scopes)]
    return [
      { accountId: account.id, issuerId: null, orgId: null, scopes: grantedScopes, obtainedBy: `invitation ${id}` },
    ]
  })
}

/** Returns a text for each platform scope in `after` that no permission in `before` covers. */
export function addedPermissions(
  before: readonly AttackerPermission[],
  after: readonly AttackerPermission[],
): string[] {
  const includes = (outer: AttackerPermission, inner: AttackerPermission) =>
    outer.accountId === inner.accountId &&
    (outer.issuerId === null || outer.issuerId === inner.issuerId) &&
    (outer.orgId === null || outer.orgId === inner.orgId)
  return after.flatMap((permission) => {
    const scopesBefore = before.filter((other) => includes(other, permission)).flatMap(({ scopes }) => scopes)
    return permission.scopes
      .filter((scope) => isPlatformScope(scope) && !coversScope(scopesBefore, scope))
      .map(
        (scope) =>
          `${scope} at ${permission.orgId ?? permission.issuerId ?? permission.accountId} by ${permission.obtainedBy}`,
      )
  })
}
