/**
 * Authority cannot grow (decisions D30, security rule 28): every mutation of the schema is run with every single scope
 * that admits it, by every kind of caller, on targets that may do more, with inputs that an attacker would choose. Then
 * the caller's reach is computed (reach.ts). It may not have grown. Mutations and inputs are read off the schema, so a new
 * mutation is covered as soon as there is one.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type GraphQLField, type GraphQLInputType, getNamedType, isEnumType, isInputObjectType } from 'graphql'
import { demandOf } from '../../src/graphql/demands.js'
import { schema } from '../../src/graphql/schema.js'
import { newId, newRow } from '../../src/kernel/ids.js'
import type { Context } from '../../src/platform/context.js'
import { systemContext } from '../../src/platform/jobs.js'
import type { Prisma } from '../../src/platform/prisma/client.js'
import { sha256 } from '../../src/platform/secrets.js'
import { usernameColumns } from '../../src/resources/users/usernames.js'
import { callRoot, type Root, rootsOf } from '../contract/roots.js'
import { bodies, fresh, type Ids, populate } from '../contract/world.js'
import { CALLBACK, Realm } from '../idp/setup.js'
import { keyWith, machineWith, makeTenant, must, scriptOf, type Tenant } from '../setup/actors.js'
import { type Api, apiAs, type Loose } from '../setup/api.js'
import { makeSession } from '../setup/sessions.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { totpCode } from '../setup/totp.js'
import { type Assets, type Capability, grown, reachOf } from './reach.js'

const HOST = 'attacker.example'
const SECRET = 'a secret that the attacker knows, 0123456789'.replace(/[ ,]/g, '-')
const PASSWORD = 'a password that the attacker knows'
const EVERYTHING = ['svc:all']

type Field = GraphQLField<unknown, Context>
export const mutations: Field[] = Object.values(schema().getMutationType()!.getFields())

/** Mutations that cannot be run to a good end here, or may not be: each with its reason. */
export const exceptions: Record<string, string> = {
  createAccount: 'Only operators create accounts, and a new account holds nothing of anybody.',
  createTopup: 'It moves money to the account by way of a facilitator; no authority comes with credit.',
  verifyDomain: 'It asks a name server. A verified domain has no effect until assignDomain, which is run here.',
}

let app: TestApp
export let tenant: Place
export let system: Place

/** Where callers and targets are. */
interface Place extends Tenant {
  app: TestApp
  /** An organization whose keys are among the callers. */
  orgId: string
  base: Ids
  roots: Root[]
  /** The issuer's authentication methods, to be restored for each set of targets. */
  methods: Prisma.AuthMethodCreateManyInput[]
  /** Accounts whose rows decide about reach. */
  accountIds: string[]
  callers: Record<string, (scopes: string[]) => Promise<{ api: Api; secret: string }>>
}

beforeAll(async () => {
  app = await startApp()
  tenant = await tenantPlace()
  system = await systemPlace()
}, 60_000)
afterAll(() => app.close())

async function tenantPlace(): Promise<Place> {
  const made = await makeTenant(app, 'Target')
  const prepared = await prepare(made)
  const orgId = prepared.base.org_id
  return { ...made, ...prepared, app, orgId, accountIds: [made.accountId], callers: await callersOf(made, orgId) }
}

/** The console issuer, with an account whose owner and administrators sign in there. */
async function systemPlace(): Promise<Place> {
  const [{ id: accountId }] = must(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
  const A = `/v1/accounts/${accountId}`
  const [{ id: issuerId }] = must(await app.operator.get(`${A}/issuers`), 200).data.slice(-1)
  const made = { app, accountId, issuerId, A, I: `${A}/issuers/${issuerId}`, owner: app.operator }
  const administered = must(await tenant.owner.get(tenant.A), 200).data
  const prepared = await prepare(made)
  const orgId = administered.admin_org_id
  const accountIds = [accountId, tenant.accountId]
  return { ...made, ...prepared, orgId, accountIds, callers: await callersOf(made, orgId) }
}

async function prepare(made: Tenant): Promise<Pick<Place, 'base' | 'roots' | 'methods'>> {
  const { owner, I, issuerId } = made
  const upstream = { issuer_url: 'https://idp.example.com', client_id: 'c', client_secret: 's' }
  const methods = [
    { name: 'Code by mail', method: 'email_otp' },
    { name: 'App', method: 'totp' },
    { name: 'Corp', method: 'oidc', first_factor_only: true, settings: upstream },
  ]
  for (const method of methods) await owner.post(`${I}/auth-methods`, method)
  const { ids: base } = await populate(made)
  const rows = await app.gatehouse.tools.prisma.authMethod.findMany({ where: { issuerId } })
  return { base, roots: await rootsOf(owner), methods: rows as Prisma.AuthMethodCreateManyInput[] }
}

/** Every kind of caller, with exactly these scopes. */
async function callersOf(made: Tenant, orgId: string): Promise<Place['callers']> {
  const { accountId, issuerId, owner } = made
  const { prisma } = app.gatehouse.tools
  const bare = (api: Api): { api: Api; secret: string } => {
    const [scheme, value = ''] = (api.authorization ?? '').split(' ')
    const text = scheme === 'Basic' ? Buffer.from(value, 'base64').toString() : value
    return { api, secret: scheme === 'Basic' ? text.slice(text.indexOf(':') + 1) : text }
  }
  const realm = new Realm(app, made)
  const username = `${fresh('caller')}@${HOST}`
  const userId = await realm.user(username)
  const application = await realm.client({ allowed_resources: [app.baseUrl] }, { settings: { scopes: EVERYTHING } })
  const params = { resource: app.baseUrl, scope: `openid ${EVERYTHING}`, redirect_uri: CALLBACK }
  const { access_token } = await realm.tokens(application, username, params)
  /** At the console issuer, authority comes with a membership. */
  const give = async (userId: string, scopes: string[]) => {
    await prisma.user.update({ where: { id: userId }, data: { scopes } })
    const { adminOrgId, system: isSystem } = await prisma.account.findUniqueOrThrow({ where: { id: accountId } })
    if (!isSystem || adminOrgId === null) return
    await prisma.organizationMember.deleteMany({ where: { orgId: adminOrgId, userId } })
    const row = { accountId, issuerId, orgId: adminOrgId, userId, scopes, status: 'active' }
    await prisma.organizationMember.create({ data: { ...newRow('mem', app.clock.now()), ...row } })
  }
  const latest: { client?: string; agent?: string } = {}
  return {
    key: async (scopes) => {
      await prisma.apiKey.deleteMany({ where: { accountId, name: 'restricted' } })
      return bare(await keyWith(made, { scopes }))
    },
    'organization key': async (scopes) => {
      await prisma.apiKey.deleteMany({ where: { orgId, name: 'caller' } })
      const org = await prisma.organization.findUniqueOrThrow({ where: { id: orgId } })
      const row = { accountId: org.accountId, issuerId: org.issuerId, orgId, name: 'caller', status: 'active' }
      const secret = newId('req', app.clock.now()).repeat(2)
      const key = { ...newRow('ak', app.clock.now()), ...row, secrets: [{ hash: sha256(secret), expires_at: null }] }
      await prisma.apiKey.create({ data: { ...key, tags: [], restrictions: { scopes }, secretHint: '' } })
      return bare(apiAs(app.baseUrl, { id: key.id, secret }))
    },
    user: async (scopes) => {
      await give(userId, scopes)
      return bare(apiAs(app.baseUrl, access_token))
    },
    'personal token': async (scopes) => {
      await prisma.personalToken.deleteMany({ where: { userId } })
      await give(userId, EVERYTHING)
      const made_ = await scriptOf(made, userId, { scopes })
      await give(userId, scopes)
      return bare(made_)
    },
    client: async (scopes) => {
      if (latest.client) await prisma.client.deleteMany({ where: { id: latest.client } })
      const caller = bare(await machineWith(made, scopes))
      const [row] = await prisma.client.findMany({ where: { issuerId }, orderBy: { id: 'desc' }, take: 1 })
      latest.client = row!.id
      const secrets = [...(row!.secrets as object[]), { hash: sha256(caller.secret), expires_at: null }]
      await prisma.client.update({ where: { id: row!.id }, data: { secrets: secrets as never } })
      return caller
    },
    agent: async (scopes) => {
      if (latest.agent) await prisma.agent.deleteMany({ where: { id: latest.agent } })
      const { id } = must(await owner.post(`${made.I}/agents`, { name: fresh('agent'), scopes }), 201).data
      latest.agent = id
      const verifiers = `${made.I}/agents/${id}/verifiers`
      const { secret } = must(await owner.post(verifiers, { type: 'secret', name: null }), 201).data
      const response = await fetch(`${app.idpUrl}/${issuerId}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource: app.baseUrl }),
      })
      const { access_token } = (await response.json()) as Loose
      return { api: apiAs(app.baseUrl, access_token), secret }
    },
  }
}

/**
 * Targets that may do everything. `active`: in force, and one step is lacking to act as them. `stopped`: their secrets are
 * known to the attacker, and something keeps them from acting.
 */
type Posture = 'active, unknown' | 'active, behind a second factor' | 'stopped'
const postures: Posture[] = ['active, unknown', 'active, behind a second factor', 'stopped']

async function targets(place: Place, posture: Posture, assets: Assets): Promise<Ids> {
  const { accountId, issuerId } = place
  const { prisma } = app.gatehouse.tools
  const now = app.clock.now()
  const at = { accountId, issuerId }
  const stopped = posture === 'stopped'
  await removeTargets(place)
  const hash = sha256(stopped ? SECRET : fresh('unknown'))
  const secrets = [{ hash, expires_at: null }]
  await prisma.issuer.update({ where: { id: issuerId }, data: { status: 'active', settings: strictSettings } })
  await prisma.authMethod.deleteMany({ where: { issuerId } })
  await prisma.authMethod.createMany({ data: place.methods.map((row) => ({ ...row, enabledLogin: true })) })
  await prisma.domain.deleteMany({ where: { OR: [{ accountId }, { host: { contains: HOST } }] } })
  await prisma.apiKey.updateMany({
    where: { accountId, NOT: { name: { in: ['First key', 'Bootstrap key', 'restricted', 'caller'] } } },
    data: { status: 'revoked' },
  })

  const person = async (name: string, host: string, status: string, extra: object = {}) => {
    const issuer = await prisma.issuer.findUniqueOrThrow({ where: { id: issuerId } })
    const username = usernameColumns(systemContext(app.gatehouse), issuer, 'email', `${fresh(name)}@${host}`)
    const row = { ...newRow('usr', now), ...at, ...username, scopes: EVERYTHING, emailVerified: true, status, ...extra }
    await prisma.user.create({ data: row })
    return row.id
  }
  const verifier = async (userId: string, columns: object) => {
    const row = { ...newRow('vrf', now), ...at, userId, codeHashes: [], ...columns }
    await prisma.verifier.create({ data: row as never })
    return row.id
  }
  const mailboxIsTheirs = posture !== 'active, unknown'
  const boss = await person('boss', mailboxIsTheirs ? HOST : 'corp.example', stopped ? 'suspended' : 'active')
  const verifier_id = stopped
    ? await verifier(boss, { type: 'password', hash: 'unknown' })
    : await verifier(boss, {
        type: posture === 'active, unknown' ? 'password' : 'totp',
        hash: 'unknown',
        sealed: 'unknown',
      })
  const { id: method_id } = await prisma.authMethod.findFirstOrThrow({
    where: { issuerId, method: posture === 'active, behind a second factor' ? 'totp' : 'oidc' },
  })
  await verifier(boss, { type: 'oauth', methodId: method_id, upstreamIssuer: 'u', upstreamSubject: boss })
  const pending_user_id = await person('pending', HOST, 'pending_approval', { requiresApproval: true })
  const member_id = await person('member', HOST, 'active', { scopes: [] })
  const outsider_id = await person('outsider', HOST, 'active', { scopes: [] })
  // An account that the boss owns and administers, where it is a user of the console issuer.
  if (place === system) await prisma.account.update({ where: { id: tenant.accountId }, data: { ownerUserId: boss } })

  const client = { ...newRow('cli', now), ...at, name: 'Strong', type: 'internal', confidential: true, secrets }
  const openid = { application_type: 'web', redirect_uris: ['https://app.corp.example/cb'] }
  const settings = { scopes: EVERYTHING, openid }
  await prisma.client.create({ data: { ...client, settings, status: stopped ? 'disabled' : 'active' } })
  const agent = { ...newRow('agt', now), ...at, name: 'Strong', scopes: EVERYTHING, verifierTypes: ['secret'] }
  await prisma.agent.create({ data: { ...agent, hasVerifiers: true, status: stopped ? 'suspended' : 'active' } })
  const agentVerifier = { ...newRow('vrf', now), ...at, agentId: agent.id, type: 'secret', hash }
  await prisma.agentVerifier.create({ data: agentVerifier })
  const key = (more: object) => ({
    ...newRow('ak', now),
    accountId,
    name: 'strong',
    tags: [],
    restrictions: {},
    secrets,
    ...more,
  })
  const blocked = { secretHint: '', status: stopped ? 'blocked' : 'active' }
  const accountKey = key(blocked)
  await prisma.apiKey.create({ data: accountKey as never })

  const { org_id, ...strong } = await strongOrganization(place, stopped, member_id, hash)
  const orgKey = key({ ...blocked, issuerId, orgId: org_id, accountId })
  await prisma.apiKey.create({ data: orgKey as never })
  const session_id = await makeSession(app, at, await person('other', 'corp.example', 'active'))
  if (stopped) await prisma.session.update({ where: { id: session_id }, data: { status: 'suspended' } })
  if (stopped) assets.sessions.add(session_id)

  const domain = {
    ...newRow('dom', now),
    accountId,
    host: HOST,
    verified: true,
    verifiedAt: now,
    verificationToken: 't',
  }
  await prisma.domain.create({ data: { ...domain, issuerId: posture === 'active, unknown' ? null : issuerId } })
  // A domain that is assigned to an issuer is the attacker's already in the other postures, were it theirs.
  if (posture !== 'active, unknown')
    await prisma.domain.update({ where: { id: domain.id }, data: { host: `${fresh('own')}.corp.example` } })
  const webhook_id = await webhookOf(place, stopped)
  const { domain: _, ...base } = place.base
  const things = await thingsOf(place, boss, webhook_id)
  const ids = {
    ...base,
    ...strong,
    ...things,
    org_id,
    user_id: boss,
    verifier_id,
    method_id,
    pending_user_id,
    member_id,
    outsider_id,
  }
  const { host } = await prisma.domain.findUniqueOrThrow({ where: { id: domain.id } })
  const principals = { client_id: client.id, agent_id: agent.id, agent_verifier_id: agentVerifier.id }
  const keys = { key_id: accountKey.id, org_key_id: orgKey.id }
  return { ...ids, ...principals, ...keys, session_id, webhook_id, domain: host }
}

/** What earlier targets left behind, so that reach is not computed from ever more rows. */
async function removeTargets(place: Place): Promise<void> {
  const { accountId, issuerId, orgId, base } = place
  const kept = [base.user_id, base.member_id, base.other_member_id, base.outsider_id, base.pending_user_id]
  const old = `SELECT id FROM users WHERE issuer_id = '${issuerId}' AND username NOT LIKE 'caller-%' AND id <> ALL('{${kept}}')
    AND NOT EXISTS (SELECT 1 FROM accounts WHERE system AND owner_user_id = users.id)`
  const { prisma } = app.gatehouse.tools
  for (const statement of [
    `DELETE FROM sessions WHERE issuer_id = '${issuerId}' AND user_id IN (${old})`,
    `DELETE FROM verifiers WHERE user_id IN (${old})`,
    `DELETE FROM personal_tokens WHERE user_id IN (${old})`,
    `DELETE FROM users WHERE id IN (${old})`,
    `DELETE FROM clients WHERE issuer_id = '${issuerId}' AND name IN ('Strong', 'Evil')`,
    `DELETE FROM agents WHERE issuer_id = '${issuerId}' AND name = 'Strong'`,
    `DELETE FROM api_keys WHERE account_id = '${accountId}' AND name = 'strong'`,
    `DELETE FROM organization_invitations WHERE issuer_id = '${issuerId}'`,
    `DELETE FROM organization_groups WHERE issuer_id = '${issuerId}' AND name LIKE 'Strong-%'`,
    `DELETE FROM webhook_deliveries WHERE account_id = '${accountId}'`,
    `DELETE FROM webhook_lanes WHERE account_id = '${accountId}'`,
    `DELETE FROM webhooks WHERE account_id = '${accountId}' AND id <> '${base.webhook_id}'`,
    `DELETE FROM clients WHERE issuer_id = '${issuerId}' AND name LIKE 'App-%' AND id <> '${base.client_id}'`,
  ])
    await prisma.$executeRawUnsafe(statement)
  await removeAllIn(place, 'issuer_id', 'issuers', [issuerId])
  const accounts = await prisma.account.findMany({ select: { adminOrgId: true } })
  const administrators = accounts.flatMap(({ adminOrgId }) => adminOrgId ?? [])
  await removeAllIn(place, 'org_id', 'organizations', [orgId, base.org_id, ...administrators])
}

/** Removes issuers or organizations that attacks created, with everything in them, whatever refers to it. */
async function removeAllIn({ accountId }: Place, column: string, table: string, kept: string[]): Promise<void> {
  const { prisma } = app.gatehouse.tools
  const where = `account_id = '${accountId}' AND NOT (${column} = ANY('{${kept}}'))`
  const tables = await prisma.$queryRawUnsafe<{ name: string }[]>(
    `SELECT table_name AS name FROM information_schema.columns c WHERE column_name = $1 AND table_schema = 'public'
     AND table_name NOT LIKE 'events%' AND EXISTS (SELECT FROM information_schema.columns a
       WHERE a.table_name = c.table_name AND a.column_name = 'account_id')`,
    column,
  )
  await prisma.$transaction([
    prisma.$executeRawUnsafe("SET LOCAL session_replication_role = 'replica'"),
    ...tables.map(({ name }) => prisma.$executeRawUnsafe(`DELETE FROM ${name} WHERE ${where}`)),
    prisma.$executeRawUnsafe(`DELETE FROM ${table} WHERE ${where.replace(column, 'id')}`),
  ])
}

const strictSettings = {
  security: { mfa_required: true },
  signup: { mode: 'invite_only', allowed_domains: ['corp.example'] },
}

/** An organization with strong members; at the console issuer one that administers an account. */
async function strongOrganization(place: Place, stopped: boolean, member_id: string, hash: string) {
  const { accountId, issuerId } = place
  const { prisma } = app.gatehouse.tools
  const now = app.clock.now()
  const at = { accountId, issuerId }
  const state = { status: stopped ? 'suspended' : 'active', invitationEnabled: true, mfaRequired: true }
  const org_id = place === system ? place.orgId : newId('org', now)
  const lists = { defaultMemberScopes: [], scopes: [], creatorScopes: [] }
  if (place === system)
    await prisma.organization.update({ where: { id: org_id }, data: { ...state, status: 'active' } })
  else await prisma.organization.create({ data: { ...newRow('org', now), ...at, ...lists, ...state, id: org_id } })
  const group = { ...newRow('grp', now), ...at, orgId: org_id, name: fresh('Strong'), scopes: EVERYTHING }
  await prisma.organizationGroup.create({ data: group })
  const membership = (userId: string) => ({
    ...newRow('mem', now),
    ...at,
    orgId: org_id,
    userId,
    scopes: [],
    status: 'active',
  })
  const other_member_id = place.base.other_member_id
  for (const id of [member_id, other_member_id]) {
    await prisma.organizationMember.deleteMany({ where: { orgId: org_id, userId: id } })
    const member = await prisma.organizationMember.create({ data: membership(id) })
    // Among administrators this would be authority that the attacker has from the start.
    const isGrouped = id === member_id && place !== system
    if (isGrouped) await prisma.organizationGroupMember.create({ data: { groupId: group.id, memberId: member.id } })
  }
  const invitation = {
    ...newRow('inv', now),
    ...at,
    orgId: org_id,
    email: `${fresh('i')}@${HOST}`,
    scopes: EVERYTHING,
    groups: [],
  }
  const invited = {
    emailKey: invitation.email,
    tokenHash: sha256(`${hash}${invitation.id}`),
    status: 'pending',
    expiresAt: now + 9e6,
  }
  await prisma.organizationInvitation.create({ data: { ...invitation, ...invited } })
  return { org_id, group_id: group.id, invitation_id: invitation.id, other_member_id }
}

/** What mutations change or remove and what gives no authority: new each time, so that each of them finds it. */
async function thingsOf({ accountId, issuerId, base }: Place, boss: string, webhookId: string) {
  const { prisma } = app.gatehouse.tools
  const now = app.clock.now()
  const token = { ...newRow('tok', now), accountId, issuerId, userId: boss, name: 'strong', tags: [], restrictions: {} }
  const expiry = { scopes: EVERYTHING, audience: app.baseUrl, expiresAt: now + 9e6, status: 'active' }
  await prisma.personalToken.create({ data: { ...token, ...expiry } })
  const note = { ...newRow('note', now), accountId, subjectType: 'issuer', subjectId: issuerId, content: 'Note' }
  await prisma.note.create({ data: note })
  const delivery = { ...newRow('dlv', now), accountId, webhookId, eventId: base.event_id, eventAt: now }
  await prisma.webhookDelivery.create({ data: { ...delivery, eventType: 'user.created', status: 'delivered' } })
  await prisma.paymentMethod.deleteMany({ where: { accountId } })
  const payment = { ...newRow('pm', now), accountId, type: 'x402', status: 'disabled', disabledAt: now }
  await prisma.paymentMethod.create({ data: payment })
  return { token_id: token.id, note_id: note.id, delivery_id: delivery.id, payment_method_id: payment.id }
}

/** A webhook of others that sends little, or one of the attacker's that was disabled. */
async function webhookOf({ accountId }: Place, stopped: boolean): Promise<string> {
  const { prisma } = app.gatehouse.tools
  const row = { ...newRow('whk', app.clock.now()), accountId, auth: 'none', secrets: app.gatehouse.sealer.seal('{}') }
  const url = `https://${stopped ? HOST : 'hooks.corp.example'}/in`
  await prisma.webhook.create({
    data: { ...row, url, eventTypes: ['note.created'], status: stopped ? 'disabled' : 'active' },
  })
  await prisma.webhookLane.create({ data: { webhookId: row.id, accountId } })
  return row.id
}

/** What an attacker writes into a field, by its name. Booleans and enums are tried with all of their values. */
const hostile: Record<string, (ids: Ids, place: Place) => unknown[]> = {
  restrictions: () => [{}, { scopes: EVERYTHING }],
  username: () => [`${fresh('me')}@${HOST}`],
  usernameType: () => ['unique'],
  email: () => [`${fresh('me')}@${HOST}`],
  profile: () => [{ email: `me@${HOST}` }],
  password: () => [PASSWORD],
  secret: () => [SECRET],
  newSecret: () => [SECRET],
  url: () => [`https://${HOST}/hook`],
  host: () => [`${fresh('www')}.${HOST}`],
  eventTypes: () => [null, ['user.created']],
  ownerUserId: (ids) => [ids.outsider_id],
  memberId: (ids) => [ids.outsider_id],
  createdByUserId: (ids) => [ids.outsider_id],
  groups: (ids) => [[ids.group_id]],
  domains: () => [[], [{ host: `${fresh('www')}.${HOST}` }]],
  expiresAt: () => [null],
  security: () => [{}, { mfa_required: false }],
  address: () => [null],
  settings: () => [
    { security: { mfa_required: false } },
    { security: null },
    { signup: { mode: 'open' } },
    { signup: { allowed_domains: [HOST, 'corp.example'] } },
    { issuer_url: `https://${HOST}`, client_id: 'c', client_secret: 's' },
    { link_by_email: true },
    { scopes: EVERYTHING },
    { openid: { redirect_uris: [`https://${HOST}/cb`] } },
  ],
}

/** Bodies that belong together, besides the ones made field by field. */
const whole: Record<string, (ids: Ids) => object[]> = {
  createAuthMethod: () => [
    { name: fresh('Evil'), method: 'oidc', firstFactorOnly: true, settings: hostileProvider },
    {
      name: fresh('Evil'),
      method: 'oidc',
      firstFactorOnly: true,
      settings: { ...hostileProvider, link_by_email: false },
    },
    { name: fresh('Evil'), method: 'passkey', enabledSignup: true },
  ],
  createVerifier: () => [
    { type: 'password', name: null, password: PASSWORD },
    { type: 'totp_enrollment', name: null, issuerName: 'Evil' },
    { type: 'backup_codes', name: null },
  ],
  createUser: () => [
    { usernameType: 'email', username: `${fresh('me')}@${HOST}`, emailVerified: true, scopes: EVERYTHING },
    { usernameType: 'email', username: `${fresh('me')}@${HOST}` },
  ],
  createClient: () => [
    { name: 'Evil', type: 'internal', confidential: true, secret: SECRET, settings: { scopes: EVERYTHING } },
  ],
  updateUser: () => [
    { username: `${fresh('me')}@${HOST}`, usernameType: 'email', emailVerified: true },
    { status: 'active', username: `${fresh('me')}@${HOST}` },
  ],
  importUsers: () => [
    {
      source: 'gatehouse',
      dryRun: false,
      last: true,
      records: [
        {
          line: 1,
          text: JSON.stringify({
            format: 'gatehouse.user',
            id: fresh('x'),
            username_type: 'email',
            username: `${fresh('me')}@${HOST}`,
            email_verified: true,
            scopes: EVERYTHING,
          }),
        },
      ],
    },
  ],
  decideApproval: () => [{ action: 'approve' }],
}
const hostileProvider = { issuer_url: `https://${HOST}`, client_id: 'c', client_secret: 's' }

const camel = (text: string) => text.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** The inputs to try: a good one, then that one with one field after the other as an attacker would have it. */
function inputsOf(field: Field, ids: Ids, place: Place): (object | undefined)[] {
  const input = field.args.find(({ name }) => name === 'input')
  if (!input) return [undefined]
  const good = Object.fromEntries(
    Object.entries(bodies[field.name]?.(ids) ?? {}).map(([key, value]) => [camel(key), value]),
  )
  const type = getNamedType(input.type)
  const fields = isInputObjectType(type) ? Object.values(type.getFields()) : []
  const single = fields.flatMap(({ name, type: of }) =>
    valuesOf(name, of, ids, place).map((value) => ({ ...good, [name]: value })),
  )
  return [good, ...(whole[field.name]?.(ids) ?? []), ...single]
}

function valuesOf(name: string, type: GraphQLInputType, ids: Ids, place: Place): unknown[] {
  if (/scopes$/i.test(name)) return [EVERYTHING]
  const byName = hostile[name]?.(ids, place)
  if (byName) return byName
  const of = getNamedType(type)
  if (isEnumType(of)) return of.getValues().map(({ name: value }) => value)
  return of.name === 'Boolean' ? [true, false] : []
}

/** Secrets that an answer holds. */
function secretsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(secretsIn)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, one]) =>
    typeof one === 'string' && /secret|plain|token/i.test(name) ? [one] : secretsIn(one),
  )
}

/** Verifiers as they are: what the caller's mutation made or changed, the caller knows. */
async function versionsOf({ issuerId }: Place): Promise<Map<string, string>> {
  const rows = await app.gatehouse.tools.prisma.verifier.findMany({
    where: { issuerId },
    select: { id: true, updatedAt: true },
  })
  return new Map(rows.map(({ id, updatedAt }) => [id, String(updatedAt)]))
}

/** Would the guard let this caller run the mutation at the place? */
async function admits({ accountId, issuerId, orgId }: Place, api: Api, { name, args }: Field): Promise<boolean> {
  const document =
    'query ($a: ID!, $i: ID, $o: ID) { permissions(accountId: $a, issuerId: $i, orgId: $o) { mutations } }'
  const takes = (argument: string) => args.some((one) => one.name === argument)
  const place = { a: accountId, ...(takes('issuerId') && { i: issuerId }), ...(takes('orgId') && { o: orgId }) }
  const { body } = await api.graphql(document, place)
  // A caller without any authority here gets NOT_FOUND. Anything else says that the caller itself is not valid any more.
  if (!body.data) expect(body.errors).toMatchObject([{ extensions: { code: 'NOT_FOUND' } }])
  return body.data?.permissions.mutations.includes(name) ?? false
}

/** Runs a mutation in all ways; answers what grew, and how often it was answered well. */
async function attack(place: Place, field: Field, kind: string, scopes: string[], among = postures) {
  const { api, secret } = await place.callers[kind]!(scopes)
  if (!(await admits(place, api, field))) return { found: [], succeeded: 0 }
  const root = place.roots.find(({ name }) => name === field.name)!
  const found: string[] = []
  let succeeded = 0
  for (const posture of among) {
    const assets: Assets = { host: HOST, secrets: new Set([secret, SECRET]), verifiers: new Map(), sessions: new Set() }
    let ids = await targets(place, posture, assets)
    const count = inputsOf(field, ids, place).length
    // What fails changes nothing.
    let before: { reach: Capability[]; versions: Map<string, string> } | undefined
    for (let at = 0; at < count; at++) {
      const input =
        field.name === 'completeEnrollment' ? await enrollmentOf(place, ids) : inputsOf(field, ids, place)[at]
      before ??= { reach: await reachOf(app, assets, place.accountIds), versions: await versionsOf(place) }
      const { answer, status } = await callRoot(api, root, ids, input ? { input } : {})
      expect({ mutation: field.name, status: status < 500 }).toEqual({ mutation: field.name, status: true })
      if (status !== 200) continue
      succeeded++
      for (const one of secretsIn(answer.body.data)) assets.secrets.add(one)
      const gives =
        JSON.stringify(input ?? {}).includes(PASSWORD) ||
        ['createVerifier', 'completeEnrollment', 'importUsers'].includes(field.name)
      for (const [id, version] of await versionsOf(place))
        if (gives && before.versions.get(id) !== version) assets.verifiers.set(id, version)
      const reach = await reachOf(app, assets, place.accountIds)
      const more = grown(before.reach, reach)
      if (more.length > 0)
        found.push(`${field.name}(${JSON.stringify(input)}) on targets that are ${posture}: ${more.join(', ')}`)
      before = undefined
      // What only adds leaves the targets as they are.
      if (more.length > 0 || !field.name.startsWith('create')) ids = await targets(place, posture, assets)
    }
  }
  return { found, succeeded }
}

/** An enrolment of the target that somebody with the authority has begun, with the code that completes it. */
async function enrollmentOf({ owner, I, issuerId }: Place, { user_id }: Ids) {
  await app.gatehouse.tools.prisma.verifier.deleteMany({ where: { issuerId, userId: user_id, type: 'totp' } })
  const body = { type: 'totp_enrollment', name: null, issuer_name: 'Corp' }
  const { enrollment_id, secret } = must(await owner.post(`${I}/users/${user_id}/verifiers`, body), 201).data
  return { enrollmentId: enrollment_id, code: totpCode(secret, app.clock.now()) }
}

const kinds = ['key', 'organization key', 'user', 'personal token', 'client', 'agent']
// The issuer is deleted last: that ends callers for good.
const tried = mutations
  .filter(({ name }) => !(name in exceptions))
  .sort((one, other) => Number(one.name === 'deleteIssuer') - Number(other.name === 'deleteIssuer'))

/** Sets of scopes that admit a mutation, each as small as can be. */
function scopeSets(field: Field): string[][] {
  const { scope, andScope } = demandOf(field)!
  const manage = scope.replace(/:\w+$/, ':manage')
  return [scope, ...(manage === scope ? [] : [manage])].map((one) => [one, ...(andScope ? [andScope] : [])])
}

/** Registers the tests of one place, one for each mutation. */
export function noMutationAddsReach(where: string, placeOf: () => Place): void {
  describe(`no mutation gives its caller more reach than it had, ${where}`, () => {
    test.each(tried.map((field) => [field.name, field] as const))(
      '%s',
      async (name, field) => {
        const place = placeOf()
        // The console issuer cannot be deleted; that is held elsewhere.
        if (place === system && name === 'deleteIssuer') return
        const found: string[] = []
        for (const kind of kinds)
          for (const scopes of scopeSets(field).slice(0, kind === 'key' ? 2 : 1)) {
            const grew = await attack(place, field, kind, scopes)
            found.push(...grew.found.map((one) => `${kind} with ${scopes.join(' ')}: ${one}`))
          }
        expect(found).toEqual([])
      },
      120_000,
    )
  })
}

/** Names of mutations that a caller with all scopes never ran to a good end: their inputs prove nothing. */
export async function neverDone(): Promise<string[]> {
  const never: string[] = []
  for (const field of tried) {
    const { succeeded } = await attack(tenant, field, 'key', EVERYTHING)
    if (succeeded === 0) never.push(field.name)
  }
  return never
}
