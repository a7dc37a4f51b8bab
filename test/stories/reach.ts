/**
 * A model of reach (docs/security.md, "Authority"): from what an attacker knows and controls, and the rows of the
 * database, it computes what the attacker may do, as itself and as everyone it can sign in as. It is written apart from
 * the product's own checks, so that both can be held against each other.
 */
import { covers, isPlatformScope } from '../../src/kernel/scopes.js'
import { sha256 } from '../../src/platform/secrets.js'
import type { TestApp } from '../setup/start-app.js'

/** What the attacker knows and controls. */
export interface Assets {
  /** Mailboxes, websites, name servers and identity providers under this host are the attacker's. */
  host: string
  /** Secrets, personal tokens and invitation tokens, in plain text. */
  secrets: Set<string>
  /** Verifiers whose secret the attacker knows, each with the version that it knows, and sessions whose tokens it has. */
  verifiers: Map<string, string>
  sessions: Set<string>
}

/** Scopes at a place; `issuerId` and `orgId` null for all that lies below. */
export interface Capability {
  accountId: string
  issuerId: string | null
  orgId: string | null
  scopes: readonly string[]
  /** How the attacker has it, for the message of a failure. */
  by: string
}

type Rows = Awaited<ReturnType<typeof rowsOf>>

async function rowsOf({ gatehouse }: TestApp, accountIds: readonly string[]) {
  const { prisma } = gatehouse.tools
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

/** Everything that the attacker may do in these accounts, among them the system account. */
export async function reachOf(app: TestApp, assets: Assets, accountIds: readonly string[]): Promise<Capability[]> {
  const rows = await rowsOf(app, accountIds)
  const hashes = new Set([...assets.secrets].map(sha256))
  return [
    ...keysOf(rows, hashes),
    ...programsOf(rows, hashes, assets),
    ...tokensOf(rows, assets),
    ...peopleOf(rows, assets),
    ...invitationsOf(rows, hashes),
    ...rows.webhooks
      .filter(({ url }) => isTheirs(url, assets))
      .map(({ accountId, id }) => ({
        accountId,
        issuerId: null,
        orgId: null,
        scopes: ['events:read'],
        by: `webhook ${id}`,
      })),
  ]
}

const isTheirs = (text: string, { host }: Assets): boolean => text.includes(host)

function keysOf({ keys, orgs }: Rows, hashes: Set<string>): Capability[] {
  const known = keys.filter(({ secrets }) => (secrets as { hash: string }[]).some(({ hash }) => hashes.has(hash)))
  return known.flatMap(({ id, accountId, issuerId, orgId, restrictions }) => {
    const { scopes = ['svc:all'], issuer_ids, org_ids } = restrictions as Record<string, string[]>
    const whole = { accountId, issuerId, orgId, scopes, by: `API key ${id}` }
    if (orgId !== null) return orgs.some((org) => org.id === orgId) ? [whole] : []
    if (org_ids)
      return org_ids.map((one) => ({
        ...whole,
        orgId: one,
        issuerId: orgs.find((org) => org.id === one)?.issuerId ?? null,
      }))
    return issuer_ids ? issuer_ids.map((one) => ({ ...whole, issuerId: one })) : [whole]
  })
}

/** Clients and agents: with a known secret, or because tokens of the client are sent to the attacker. */
function programsOf({ clients, agents, issuers }: Rows, hashes: Set<string>, assets: Assets): Capability[] {
  const lives = ({ issuerId }: { issuerId: string }) => issuers.some(({ id }) => id === issuerId)
  const ofClients = clients.filter(lives).flatMap(({ id, accountId, issuerId, settings, secrets }) => {
    const { scopes = [], openid } = settings as { scopes?: string[]; openid?: { redirect_uris?: string[] } }
    const known = (secrets as { hash: string }[]).some(({ hash }) => hashes.has(hash))
    const led = openid?.redirect_uris?.some((uri) => isTheirs(uri, assets)) ?? false
    return known || led ? [{ accountId, issuerId, orgId: null, scopes, by: `client ${id}` }] : []
  })
  const ofAgents = agents.filter(lives).flatMap(({ id, accountId, issuerId, scopes, verifiers }) => {
    const known = verifiers.some(({ hash }) => hash !== null && hashes.has(hash))
    return known ? [{ accountId, issuerId, orgId: null, scopes, by: `agent ${id}` }] : []
  })
  return [...ofClients, ...ofAgents]
}

/** The id inside of a personal token. */
const jtiOf = (jwt: string): string | undefined => {
  const [, payload = ''] = jwt.split('.')
  try {
    return JSON.parse(Buffer.from(payload, 'base64url').toString()).jti
  } catch {
    return undefined
  }
}

function tokensOf(rows: Rows, { secrets }: Assets): Capability[] {
  const known = new Set([...secrets].map(jtiOf))
  return rows.tokens
    .filter(({ id, user }) => known.has(id) && user.status === 'active')
    .flatMap(({ id, user, scopes }) =>
      authorityOf(rows, user, `personal token ${id}`).map((one) => ({
        ...one,
        scopes: scopes.filter((scope) => covers(one.scopes, scope)),
      })),
    )
}

type Issuer = Rows['issuers'][number]
type User = Issuer['users'][number]

/** Users that the attacker can sign in as, and those whose session it has. */
function peopleOf(rows: Rows, assets: Assets): Capability[] {
  const held = new Set(rows.sessions.filter(({ id }) => assets.sessions.has(id)).map(({ userId }) => userId))
  return rows.issuers.flatMap((issuer) =>
    issuer.users.flatMap((user) => {
      const way = held.has(user.id) ? 'session' : waysIn(rows, issuer, user, assets)
      return way ? authorityOf(rows, user, `user ${user.username} by ${way}`) : []
    }),
  )
}

const federated = new Set(['oidc', 'oauth2', 'apple', 'github'])

/** How the attacker passes all steps of a sign-in as this user; undefined when it does not. */
function waysIn({ domains }: Rows, issuer: Issuer, user: User, assets: Assets): string | undefined {
  const offered = new Set(issuer.authMethods.map(({ method }) => method))
  const knows = ({ id, updatedAt }: User['verifiers'][number]) => assets.verifiers.get(id) === String(updatedAt)
  const address = user.usernameType === 'email' ? user.username : (user.profile as { email?: string }).email
  const byMail = ['email_otp', 'email_link', 'password'].some((method) => offered.has(method))
  const mailHost = domains.find(({ issuerId }) => issuerId === issuer.id)?.host
  const theirMethods = issuer.authMethods.filter(
    ({ method, settings }) => federated.has(method) && isTheirs(JSON.stringify(settings), assets),
  )
  const links = theirMethods.some(({ settings }) => (settings as { link_by_email?: boolean }).link_by_email !== false)

  const first = user.verifiers.find(
    (verifier) => ['password', 'temporary_password', 'passkey'].includes(verifier.type) && knows(verifier),
  )
  const ways: [string, boolean][] = [
    [`a known ${first?.type}`, first !== undefined],
    ['the mailbox', byMail && address !== undefined && isTheirs(address, assets)],
    ['links in mails', byMail && address !== undefined && mailHost !== undefined && isTheirs(mailHost, assets)],
    ['an upstream account', user.verifiers.some(({ methodId }) => theirMethods.some(({ id }) => id === methodId))],
    ['a link by address', links && address !== undefined && user.emailVerified],
  ]
  const way = ways.find(([, open]) => open)?.[0]
  if (way === undefined || first?.type === 'passkey') return way
  const second = user.verifiers.filter(
    ({ type }) => ['totp', 'passkey', 'backup_codes'].includes(type) && offered.has(type as never),
  )
  return second.length === 0 || second.some(knows) ? way : undefined
}

const scopesIn = (org: Rows['orgs'][number], member: Rows['orgs'][number]['members'][number]): string[] => [
  ...org.defaultMemberScopes,
  ...member.scopes,
  ...member.groups.flatMap(({ group }) => group.scopes),
]

/** What a user may do: its scopes at its issuer; as a user of the console issuer, on accounts (decisions D6). */
function authorityOf(
  { accounts, orgs }: Rows,
  user: Pick<User, 'id' | 'accountId' | 'issuerId' | 'scopes'>,
  by: string,
): Capability[] {
  const { id, accountId, issuerId, scopes } = user
  const owned = accounts
    .filter(({ ownerUserId }) => ownerUserId === id)
    .map((account) => ({ accountId: account.id, issuerId: null, orgId: null, scopes: ['svc:all'], by }))
  const administered = orgs.flatMap((org) => {
    const account = accounts.find(({ adminOrgId }) => adminOrgId === org.id)
    const member = org.members.find(({ userId, status }) => userId === id && status === 'active')
    return account && member
      ? [{ accountId: account.id, issuerId: null, orgId: null, scopes: scopesIn(org, member), by }]
      : []
  })
  const isConsole = accounts.some(({ adminOrgId }) => orgs.find((org) => org.id === adminOrgId)?.issuerId === issuerId)
  return [...owned, ...administered, ...(isConsole ? [] : [{ accountId, issuerId, orgId: null, scopes, by }])]
}

/** Whoever has the token of an invitation becomes a member; in an administrator organization that is authority. */
function invitationsOf({ invitations, orgs, accounts }: Rows, hashes: Set<string>): Capability[] {
  return invitations.flatMap(({ id, orgId, tokenHash, scopes, groups }) => {
    const org = orgs.find((one) => one.id === orgId)
    const account = accounts.find(({ adminOrgId }) => adminOrgId === orgId)
    if (!org || !account || !hashes.has(tokenHash)) return []
    const byGroups = org.members.flatMap((member) => member.groups).filter(({ groupId }) => groups.includes(groupId))
    const given = [...org.defaultMemberScopes, ...scopes, ...byGroups.flatMap(({ group }) => group.scopes)]
    return [{ accountId: account.id, issuerId: null, orgId: null, scopes: given, by: `invitation ${id}` }]
  })
}

/** What is reached now and was not before: each scope with its place and the way to it. */
export function grown(before: readonly Capability[], after: readonly Capability[]): string[] {
  const holds = (outer: Capability, inner: Capability) =>
    outer.accountId === inner.accountId &&
    (outer.issuerId === null || outer.issuerId === inner.issuerId) &&
    (outer.orgId === null || outer.orgId === inner.orgId)
  return after.flatMap((one) => {
    const held = before.filter((other) => holds(other, one)).flatMap(({ scopes }) => scopes)
    return one.scopes
      .filter((scope) => isPlatformScope(scope) && !covers(held, scope))
      .map((scope) => `${scope} at ${one.orgId ?? one.issuerId ?? one.accountId} by ${one.by}`)
  })
}
