/**
 * A caller cannot gain authority (docs/contract.md#authority-for-changes, docs/contract.md#authority-cannot-grow). Each
 * kind of caller, with only the scopes that a mutation requires, runs each mutation except `untestedMutations`, with
 * inputs that an attacker would choose, on principals with more authority. Before and after a mutation,
 * attacker-permissions.ts computes the permissions of the caller, which must not have grown. Mutations and their input
 * fields come from the GraphQL schema, so new mutations are included.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type GraphQLField, type GraphQLInputType, getNamedType, isEnumType, isInputObjectType } from 'graphql'
import { requiredPermissionOf } from '../../src/graphql/field-extensions.js'
import { schema } from '../../src/graphql/schema.js'
import { newId, newRow } from '../../src/kernel/ids.js'
import type { Context } from '../../src/platform/context.js'
import { sha256 } from '../../src/platform/crypto/secrets.js'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import type { Prisma } from '../../src/platform/postgres/prisma/client.js'
import { usernameColumns } from '../../src/resources/users/usernames.js'
import { callRootField, type RootField, readRootFields } from '../contract/root-fields.js'
import { createTenantResources, type FixtureIds, requestBodies, uniqueName } from '../contract/tenant-fixture.js'
import { REDIRECT_URI, Realm } from '../idp/realm.js'
import {
  createMachineClient,
  createPersonalTokenClient,
  createRestrictedKey,
  createTenant,
  expectStatus,
  type Tenant,
} from '../setup/actors.js'
import { type AnyJson, type ApiClient, createApiClient } from '../setup/api.js'
import { createSession } from '../setup/sessions.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { totpCode } from '../setup/totp.js'
import {
  type AttackerAssets,
  type AttackerPermission,
  addedPermissions,
  attackerPermissions,
} from './attacker-permissions.js'

const HOST = 'attacker.example'
const SECRET = 'a secret that the attacker knows, 0123456789'.replace(/[ ,]/g, '-')
const PASSWORD = 'a password that the attacker knows'
const EVERYTHING = ['svc:all']

type Field = GraphQLField<unknown, Context>
export const mutations: Field[] = Object.values(schema().getMutationType()!.getFields())

/** Mutations that this file does not run, with the reason. */
export const untestedMutations: Record<string, string> = {
  createAccount: 'Only operators create accounts, and a new account contains nothing of other accounts.',
  createTopup: 'It transfers money to the account through a facilitator. Credit grants no authority.',
  verifyDomain: 'It queries a DNS server. A verified domain has no effect until assignDomain, which is tested.',
}

let app: TestApp
/** An issuer of a tenant. */
export let tenant: AttackTarget
/** The console issuer. */
export let system: AttackTarget

/** An issuer and its account, with the callers and the attacked principals. */
interface AttackTarget extends Tenant {
  app: TestApp
  /** Id of the organization of the caller `organization key`. */
  orgId: string
  /** Ids of resources that all attacks use. */
  base: FixtureIds
  roots: RootField[]
  /** Rows of the issuer's authentication methods, which `createTargets` restores. */
  methods: Prisma.AuthMethodCreateManyInput[]
  /** Ids of the accounts whose resources can give the attacker permissions. */
  accountIds: string[]
  /** Functions that create a caller with these scopes, by kind of caller. */
  callers: Record<string, (scopes: string[]) => Promise<{ api: ApiClient; secret: string }>>
}

beforeAll(async () => {
  app = await startApp()
  tenant = await createTenantTarget()
  system = await createSystemTarget()
}, 60_000)
afterAll(() => app.close())

async function createTenantTarget(): Promise<AttackTarget> {
  const createdTenant = await createTenant(app, 'Target')
  const prepared = await prepareTarget(createdTenant)
  const orgId = prepared.base.org_id
  return {
    ...createdTenant,
    ...prepared,
    app,
    orgId,
    accountIds: [createdTenant.accountId],
    callers: await createCallers(createdTenant, orgId),
  }
}

/** The console issuer. Its users own and administer the account of `tenant`. */
async function createSystemTarget(): Promise<AttackTarget> {
  const [{ id: accountId }] = expectStatus(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
  const A = `/v1/accounts/${accountId}`
  const [{ id: issuerId }] = expectStatus(await app.operator.get(`${A}/issuers`), 200).data.slice(-1)
  const createdTenant = { app, accountId, issuerId, A, I: `${A}/issuers/${issuerId}`, owner: app.operator }
  const administered = expectStatus(await tenant.owner.get(tenant.A), 200).data
  const prepared = await prepareTarget(createdTenant)
  const orgId = administered.admin_org_id
  const accountIds = [accountId, tenant.accountId]
  return { ...createdTenant, ...prepared, orgId, accountIds, callers: await createCallers(createdTenant, orgId) }
}

async function prepareTarget(createdTenant: Tenant): Promise<Pick<AttackTarget, 'base' | 'roots' | 'methods'>> {
  const { owner, I, issuerId } = createdTenant
  const upstream = { issuer_url: 'https://idp.example.com', client_id: 'c', client_secret: 's' }
  const methods = [
    { name: 'Code by mail', method: 'email_otp' },
    { name: 'App', method: 'totp' },
    { name: 'Corp', method: 'oidc', first_factor_only: true, settings: upstream },
  ]
  for (const method of methods) await owner.post(`${I}/auth-methods`, method)
  const { ids: base } = await createTenantResources(createdTenant)
  const rows = await app.gatehouse.database.prisma.authMethod.findMany({ where: { issuerId } })
  return { base, roots: await readRootFields(owner), methods: rows as Prisma.AuthMethodCreateManyInput[] }
}

/** Returns functions that create each kind of caller with exactly the given scopes. */
async function createCallers(createdTenant: Tenant, orgId: string): Promise<AttackTarget['callers']> {
  const { accountId, issuerId, owner } = createdTenant
  const { prisma } = app.gatehouse.database
  const withSecret = (api: ApiClient): { api: ApiClient; secret: string } => {
    const [scheme, value = ''] = (api.authorization ?? '').split(' ')
    const text = scheme === 'Basic' ? Buffer.from(value, 'base64').toString() : value
    return { api, secret: scheme === 'Basic' ? text.slice(text.indexOf(':') + 1) : text }
  }
  const realm = new Realm(app, createdTenant)
  const username = `${uniqueName('caller')}@${HOST}`
  const userId = await realm.createUser(username)
  const application = await realm.createClient(
    { allowed_resources: [app.baseUrl] },
    { settings: { scopes: EVERYTHING } },
  )
  const params = { resource: app.baseUrl, scope: `openid ${EVERYTHING}`, redirect_uri: REDIRECT_URI }
  const { access_token } = await realm.signInForTokens(application, username, params)
  /** At the console issuer, the scopes of a user are those of a member of the administrator organization. */
  const grantScopes = async (userId: string, scopes: string[]) => {
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
      return withSecret(await createRestrictedKey(createdTenant, { scopes }))
    },
    'organization key': async (scopes) => {
      await prisma.apiKey.deleteMany({ where: { orgId, name: 'caller' } })
      const org = await prisma.organization.findUniqueOrThrow({ where: { id: orgId } })
      const row = { accountId: org.accountId, issuerId: org.issuerId, orgId, name: 'caller', status: 'active' }
      const secret = newId('req', app.clock.now()).repeat(2)
      const key = { ...newRow('ak', app.clock.now()), ...row, secrets: [{ hash: sha256(secret), expires_at: null }] }
      await prisma.apiKey.create({ data: { ...key, tags: [], restrictions: { scopes }, secretHint: '' } })
      return withSecret(createApiClient(app.baseUrl, { id: key.id, secret }))
    },
    user: async (scopes) => {
      await grantScopes(userId, scopes)
      return withSecret(createApiClient(app.baseUrl, access_token))
    },
    'personal token': async (scopes) => {
      await prisma.personalToken.deleteMany({ where: { userId } })
      await grantScopes(userId, EVERYTHING)
      const tokenClient = await createPersonalTokenClient(createdTenant, userId, { scopes })
      await grantScopes(userId, scopes)
      return withSecret(tokenClient)
    },
    client: async (scopes) => {
      if (latest.client) await prisma.client.deleteMany({ where: { id: latest.client } })
      const caller = withSecret(await createMachineClient(createdTenant, scopes))
      const [row] = await prisma.client.findMany({ where: { issuerId }, orderBy: { id: 'desc' }, take: 1 })
      latest.client = row!.id
      const secrets = [...(row!.secrets as object[]), { hash: sha256(caller.secret), expires_at: null }]
      await prisma.client.update({ where: { id: row!.id }, data: { secrets: secrets as never } })
      return caller
    },
    agent: async (scopes) => {
      if (latest.agent) await prisma.agent.deleteMany({ where: { id: latest.agent } })
      const { id } = expectStatus(
        await owner.post(`${createdTenant.I}/agents`, { name: uniqueName('agent'), scopes }),
        201,
      ).data
      latest.agent = id
      const verifiers = `${createdTenant.I}/agents/${id}/verifiers`
      const { secret } = expectStatus(await owner.post(verifiers, { type: 'secret', name: null }), 201).data
      const response = await fetch(`${app.idpUrl}/${issuerId}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource: app.baseUrl }),
      })
      const { access_token } = (await response.json()) as AnyJson
      return { api: createApiClient(app.baseUrl, access_token), secret }
    },
  }
}

/**
 * State of the attacked principals, which have all scopes. `active, unknown`: the attacker knows none of their secrets.
 * `active, behind a second factor`: the attacker controls the mailbox of the user but not the second factor. `stopped`:
 * the attacker knows their secrets, but they are disabled or suspended.
 */
type TargetState = 'active, unknown' | 'active, behind a second factor' | 'stopped'
const targetStates: TargetState[] = ['active, unknown', 'active, behind a second factor', 'stopped']

/** Deletes the resources of earlier attacks and creates new ones in this state. Returns the ids for the next attack. */
async function createTargets(
  target: AttackTarget,
  targetState: TargetState,
  assets: AttackerAssets,
): Promise<FixtureIds> {
  const { accountId, issuerId } = target
  const { prisma } = app.gatehouse.database
  const now = app.clock.now()
  const at = { accountId, issuerId }
  const isStopped = targetState === 'stopped'
  await removeTargets(target)
  const hash = sha256(isStopped ? SECRET : uniqueName('unknown'))
  const secrets = [{ hash, expires_at: null }]
  await prisma.issuer.update({ where: { id: issuerId }, data: { status: 'active', settings: strictSettings } })
  await prisma.authMethod.deleteMany({ where: { issuerId } })
  await prisma.authMethod.createMany({ data: target.methods.map((row) => ({ ...row, enabledLogin: true })) })
  await prisma.domain.deleteMany({ where: { OR: [{ accountId }, { host: { contains: HOST } }] } })
  await prisma.apiKey.updateMany({
    where: { accountId, NOT: { name: { in: ['First key', 'Bootstrap key', 'restricted', 'caller'] } } },
    data: { status: 'revoked' },
  })

  const createUserRow = async (name: string, host: string, status: string, extra: object = {}) => {
    const issuer = await prisma.issuer.findUniqueOrThrow({ where: { id: issuerId } })
    const username = usernameColumns(systemContext(app.gatehouse), issuer, 'email', `${uniqueName(name)}@${host}`)
    const row = { ...newRow('usr', now), ...at, ...username, scopes: EVERYTHING, emailVerified: true, status, ...extra }
    await prisma.user.create({ data: row })
    return row.id
  }
  const createVerifierRow = async (userId: string, columns: object) => {
    const row = { ...newRow('vrf', now), ...at, userId, codeHashes: [], ...columns }
    await prisma.verifier.create({ data: row as never })
    return row.id
  }
  const attackerOwnsMailbox = targetState !== 'active, unknown'
  const strongUserId = await createUserRow(
    'boss',
    attackerOwnsMailbox ? HOST : 'corp.example',
    isStopped ? 'suspended' : 'active',
  )
  const verifier_id = isStopped
    ? await createVerifierRow(strongUserId, { type: 'password', hash: 'unknown' })
    : await createVerifierRow(strongUserId, {
        type: targetState === 'active, unknown' ? 'password' : 'totp',
        hash: 'unknown',
        encryptedSecret: 'unknown',
      })
  const { id: method_id } = await prisma.authMethod.findFirstOrThrow({
    where: { issuerId, method: targetState === 'active, behind a second factor' ? 'totp' : 'oidc' },
  })
  await createVerifierRow(strongUserId, {
    type: 'oauth',
    methodId: method_id,
    upstreamIssuer: 'u',
    upstreamSubject: strongUserId,
  })
  const pending_user_id = await createUserRow('pending', HOST, 'pending_approval', { requiresApproval: true })
  const member_id = await createUserRow('member', HOST, 'active', { scopes: [] })
  const outsider_id = await createUserRow('outsider', HOST, 'active', { scopes: [] })
  // If the target is the console issuer, the strong user (`strongUserId`) also owns the account of `tenant`.
  if (target === system)
    await prisma.account.update({ where: { id: tenant.accountId }, data: { ownerUserId: strongUserId } })

  const client = { ...newRow('cli', now), ...at, name: 'Strong', type: 'internal', confidential: true, secrets }
  const openid = { application_type: 'web', redirect_uris: ['https://app.corp.example/cb'] }
  const settings = { scopes: EVERYTHING, openid }
  await prisma.client.create({ data: { ...client, settings, status: isStopped ? 'disabled' : 'active' } })
  const agent = { ...newRow('agt', now), ...at, name: 'Strong', scopes: EVERYTHING, verifierTypes: ['secret'] }
  await prisma.agent.create({ data: { ...agent, hasVerifiers: true, status: isStopped ? 'suspended' : 'active' } })
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
  const blocked = { secretHint: '', status: isStopped ? 'blocked' : 'active' }
  const accountKey = key(blocked)
  await prisma.apiKey.create({ data: accountKey as never })

  const { org_id, ...strong } = await strongOrganization(target, isStopped, member_id, hash)
  const orgKey = key({ ...blocked, issuerId, orgId: org_id, accountId })
  await prisma.apiKey.create({ data: orgKey as never })
  const session_id = await createSession(app, at, await createUserRow('other', 'corp.example', 'active'))
  if (isStopped) await prisma.session.update({ where: { id: session_id }, data: { status: 'suspended' } })
  if (isStopped) assets.sessions.add(session_id)

  const domain = {
    ...newRow('dom', now),
    accountId,
    host: HOST,
    verified: true,
    verifiedAt: now,
    verificationToken: 't',
  }
  await prisma.domain.create({ data: { ...domain, issuerId: targetState === 'active, unknown' ? null : issuerId } })
  // In the other states the domain is assigned, so a host of the attacker would already give access to email links.
  if (targetState !== 'active, unknown')
    await prisma.domain.update({ where: { id: domain.id }, data: { host: `${uniqueName('own')}.corp.example` } })
  const webhook_id = await createTargetWebhook(target, isStopped)
  const { domain: _, ...base } = target.base
  const otherTargets = await createOtherTargets(target, strongUserId, webhook_id)
  const ids = {
    ...base,
    ...strong,
    ...otherTargets,
    org_id,
    user_id: strongUserId,
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

/** Deletes the rows of earlier attacks, which would slow down the computation of permissions. */
async function removeTargets(target: AttackTarget): Promise<void> {
  const { accountId, issuerId, orgId, base } = target
  const kept = [base.user_id, base.member_id, base.other_member_id, base.outsider_id, base.pending_user_id]
  const old = `SELECT id FROM users WHERE issuer_id = '${issuerId}' AND username NOT LIKE 'caller-%' AND id <> ALL('{${kept}}')
    AND NOT EXISTS (SELECT 1 FROM accounts WHERE system AND owner_user_id = users.id)`
  const { prisma } = app.gatehouse.database
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
    `DELETE FROM webhook_delivery_queues WHERE account_id = '${accountId}'`,
    `DELETE FROM webhooks WHERE account_id = '${accountId}' AND id <> '${base.webhook_id}'`,
    `DELETE FROM clients WHERE issuer_id = '${issuerId}' AND name LIKE 'App-%' AND id <> '${base.client_id}'`,
  ])
    await prisma.$executeRawUnsafe(statement)
  await removeAllIn(target, 'issuer_id', 'issuers', [issuerId])
  const accounts = await prisma.account.findMany({ select: { adminOrgId: true } })
  const administrators = accounts.flatMap(({ adminOrgId }) => adminOrgId ?? [])
  await removeAllIn(target, 'org_id', 'organizations', [orgId, base.org_id, ...administrators])
}

/** Deletes the issuers or organizations of the account that attacks created, with all rows that refer to them. */
async function removeAllIn(
  { accountId }: AttackTarget,
  column: string,
  table: string,
  keptIds: string[],
): Promise<void> {
  const { prisma } = app.gatehouse.database
  const where = `account_id = '${accountId}' AND NOT (${column} = ANY('{${keptIds}}'))`
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
  security: { mfa_required: true, openid_policy: { client_assertions: { enabled: true } } },
  signup: { mode: 'invite_only', allowed_domains: ['corp.example'] },
}

/**
 * Creates an organization with a group that has all scopes. At the console issuer, uses the administrator organization.
 */
async function strongOrganization(target: AttackTarget, isStopped: boolean, member_id: string, hash: string) {
  const { accountId, issuerId } = target
  const { prisma } = app.gatehouse.database
  const now = app.clock.now()
  const at = { accountId, issuerId }
  const state = { status: isStopped ? 'suspended' : 'active', invitationEnabled: true, mfaRequired: true }
  const org_id = target === system ? target.orgId : newId('org', now)
  const lists = { defaultMemberScopes: [], scopes: [], creatorScopes: [] }
  if (target === system)
    await prisma.organization.update({ where: { id: org_id }, data: { ...state, status: 'active' } })
  else await prisma.organization.create({ data: { ...newRow('org', now), ...at, ...lists, ...state, id: org_id } })
  const group = { ...newRow('grp', now), ...at, orgId: org_id, name: uniqueName('Strong'), scopes: EVERYTHING }
  await prisma.organizationGroup.create({ data: group })
  const membership = (userId: string) => ({
    ...newRow('mem', now),
    ...at,
    orgId: org_id,
    userId,
    scopes: [],
    status: 'active',
  })
  const other_member_id = target.base.other_member_id
  for (const id of [member_id, other_member_id]) {
    await prisma.organizationMember.deleteMany({ where: { orgId: org_id, userId: id } })
    const member = await prisma.organizationMember.create({ data: membership(id) })
    // In the administrator organization, the group would give the attacker all scopes before the attack.
    const isGrouped = id === member_id && target !== system
    if (isGrouped) await prisma.organizationGroupMember.create({ data: { groupId: group.id, memberId: member.id } })
  }
  const invitation = {
    ...newRow('inv', now),
    ...at,
    orgId: org_id,
    email: `${uniqueName('i')}@${HOST}`,
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

/** Creates a personal token of the strong user, a note, a webhook delivery and a payment method. */
async function createOtherTargets(
  { accountId, issuerId, base }: AttackTarget,
  strongUserId: string,
  webhookId: string,
) {
  const { prisma } = app.gatehouse.database
  const now = app.clock.now()
  const token = {
    ...newRow('tok', now),
    accountId,
    issuerId,
    userId: strongUserId,
    name: 'strong',
    tags: [],
    restrictions: {},
  }
  const expiry = { scopes: EVERYTHING, audience: app.baseUrl, expiresAt: now + 9e6, status: 'active' }
  await prisma.personalToken.create({ data: { ...token, ...expiry } })
  const note = { ...newRow('note', now), accountId, subjectType: 'issuer', subjectId: issuerId, content: 'Note' }
  await prisma.note.create({ data: note })
  const delivery = { ...newRow('dlv', now), accountId, webhookId, eventId: base.event_id, eventAt: now }
  await prisma.webhookDelivery.create({ data: { ...delivery, eventType: 'user.created', status: 'delivered' } })
  await prisma.paymentMethod.deleteMany({ where: { accountId } })
  const payment = { ...newRow('pm', now), accountId, type: 'x402', status: 'disabled', disabledAt: now }
  await prisma.paymentMethod.create({ data: payment })
  await prisma.initialAccessToken.deleteMany({ where: { issuerId } })
  const registration = { ...newRow('iat', now), accountId, issuerId, hash: sha256(uniqueName('unknown')) }
  await prisma.initialAccessToken.create({
    data: { ...registration, maxUses: 1, expiresAt: now + 9e6, allowedScopes: EVERYTHING },
  })
  return {
    token_id: token.id,
    note_id: note.id,
    delivery_id: delivery.id,
    payment_method_id: payment.id,
    initial_access_token_id: registration.id,
  }
}

/**
 * Creates an active webhook of another caller with one event type, or a disabled webhook with a URL of the attacker.
 */
async function createTargetWebhook({ accountId }: AttackTarget, isStopped: boolean): Promise<string> {
  const { prisma } = app.gatehouse.database
  const row = {
    ...newRow('whk', app.clock.now()),
    accountId,
    auth: 'none',
    secrets: app.gatehouse.encryptor.encrypt('{}'),
  }
  const url = `https://${isStopped ? HOST : 'hooks.corp.example'}/in`
  await prisma.webhook.create({
    data: { ...row, url, eventTypes: ['note.created'], status: isStopped ? 'disabled' : 'active' },
  })
  await prisma.webhookDeliveryQueue.create({ data: { webhookId: row.id, accountId } })
  return row.id
}

/** Values that an attacker writes into an input field, by field name. `hostileValuesFor` adds booleans and enums. */
const hostileFieldValues: Record<string, (ids: FixtureIds) => unknown[]> = {
  restrictions: () => [{}, { scopes: EVERYTHING }],
  username: () => [`${uniqueName('me')}@${HOST}`],
  usernameType: () => ['unique'],
  email: () => [`${uniqueName('me')}@${HOST}`],
  profile: () => [{ email: `me@${HOST}` }],
  password: () => [PASSWORD],
  secret: () => [SECRET],
  newSecret: () => [SECRET],
  url: () => [`https://${HOST}/hook`],
  host: () => [`${uniqueName('www')}.${HOST}`],
  eventTypes: () => [null, ['user.created']],
  ownerUserId: (ids) => [ids.outsider_id],
  memberId: (ids) => [ids.outsider_id],
  createdByUserId: (ids) => [ids.outsider_id],
  groups: (ids) => [[ids.group_id]],
  domains: () => [[], [{ host: `${uniqueName('www')}.${HOST}` }]],
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
    { openid: { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: `https://${HOST}/jwks.json` } },
  ],
}

/** Inputs in which several fields have an attacker's value, by mutation. */
const hostileInputs: Record<string, (ids: FixtureIds) => object[]> = {
  createAuthMethod: () => [
    { name: uniqueName('Evil'), method: 'oidc', firstFactorOnly: true, settings: hostileProvider },
    {
      name: uniqueName('Evil'),
      method: 'oidc',
      firstFactorOnly: true,
      settings: { ...hostileProvider, link_by_email: false },
    },
    { name: uniqueName('Evil'), method: 'passkey', enabledSignup: true },
  ],
  createAgentVerifier: () => [{ type: 'public_key', name: null, jwksUri: `https://${HOST}/jwks.json` }],
  createVerifier: () => [
    { type: 'password', name: null, password: PASSWORD },
    { type: 'totp_enrollment', name: null, issuerName: 'Evil' },
    { type: 'backup_codes', name: null },
  ],
  createUser: () => [
    { usernameType: 'email', username: `${uniqueName('me')}@${HOST}`, emailVerified: true, scopes: EVERYTHING },
    { usernameType: 'email', username: `${uniqueName('me')}@${HOST}` },
  ],
  createClient: () => [
    { name: 'Evil', type: 'internal', confidential: true, secret: SECRET, settings: { scopes: EVERYTHING } },
    {
      name: 'Evil',
      type: 'internal',
      confidential: true,
      settings: {
        scopes: EVERYTHING,
        openid: { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: `https://${HOST}/jwks.json` },
      },
    },
  ],
  updateUser: () => [
    { username: `${uniqueName('me')}@${HOST}`, usernameType: 'email', emailVerified: true },
    { status: 'active', username: `${uniqueName('me')}@${HOST}` },
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
            id: uniqueName('x'),
            username_type: 'email',
            username: `${uniqueName('me')}@${HOST}`,
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

/** Returns the inputs to try: a valid one, those of `hostileInputs`, and valid ones with one attacker's value. */
function inputsFor(field: Field, ids: FixtureIds): (object | undefined)[] {
  const input = field.args.find(({ name }) => name === 'input')
  if (!input) return [undefined]
  const validInput = Object.fromEntries(
    Object.entries(requestBodies[field.name]?.(ids) ?? {}).map(([key, value]) => [camel(key), value]),
  )
  const type = getNamedType(input.type)
  const fields = isInputObjectType(type) ? Object.values(type.getFields()) : []
  const single = fields.flatMap(({ name, type: of }) =>
    hostileValuesFor(name, of, ids).map((value) => ({ ...validInput, [name]: value })),
  )
  return [validInput, ...(hostileInputs[field.name]?.(ids) ?? []), ...single]
}

function hostileValuesFor(name: string, type: GraphQLInputType, ids: FixtureIds): unknown[] {
  if (/scopes$/i.test(name)) return [EVERYTHING]
  const byName = hostileFieldValues[name]?.(ids)
  if (byName) return byName
  const of = getNamedType(type)
  if (isEnumType(of)) return of.getValues().map(({ name: value }) => value)
  return of.name === 'Boolean' ? [true, false] : []
}

/** Returns the secrets in the data of a response. */
function secretsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(secretsIn)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, field]) =>
    typeof field === 'string' && /secret|plain|token/i.test(name) ? [field] : secretsIn(field),
  )
}

/**
 * Returns `updated_at` of each verifier, by id. The caller knows the secret of a verifier that its mutation changed.
 */
async function verifierVersions({ issuerId }: AttackTarget): Promise<Map<string, string>> {
  const rows = await app.gatehouse.database.prisma.verifier.findMany({
    where: { issuerId },
    select: { id: true, updatedAt: true },
  })
  return new Map(rows.map(({ id, updatedAt }) => [id, String(updatedAt)]))
}

/** Returns whether `permissions` lists the mutation for this caller at the resource path of the target. */
async function mayRun(
  { accountId, issuerId, orgId }: AttackTarget,
  api: ApiClient,
  { name, args }: Field,
): Promise<boolean> {
  const document =
    'query ($a: ID!, $i: ID, $o: ID) { permissions(accountId: $a, issuerId: $i, orgId: $o) { mutations } }'
  const takes = (argument: string) => args.some((candidate) => candidate.name === argument)
  const variables = { a: accountId, ...(takes('issuerId') && { i: issuerId }), ...(takes('orgId') && { o: orgId }) }
  const { body } = await api.graphql(document, variables)
  // A caller without permissions at this path gets NOT_FOUND. Another error would mean that the caller is invalid.
  if (!body.data?.permissions) expect(body.errors).toMatchObject([{ extensions: { code: 'NOT_FOUND' } }])
  return body.data?.permissions?.mutations.includes(name) ?? false
}

/**
 * Runs a mutation with all inputs. Returns the permissions that the caller gained, and the number of successful runs.
 */
async function runAttack(
  target: AttackTarget,
  field: Field,
  callerKind: string,
  scopes: string[],
  states = targetStates,
) {
  const { api, secret } = await target.callers[callerKind]!(scopes)
  if (!(await mayRun(target, api, field))) return { found: [], succeeded: 0 }
  const root = target.roots.find(({ name }) => name === field.name)!
  const found: string[] = []
  let successCount = 0
  for (const targetState of states) {
    const assets: AttackerAssets = {
      host: HOST,
      secrets: new Set([secret, SECRET]),
      verifiers: new Map(),
      sessions: new Set(),
    }
    let ids = await createTargets(target, targetState, assets)
    const count = inputsFor(field, ids).length
    // The state before the next attempt. A failed mutation changes nothing, so the state is read again only after a
    // successful one.
    let before: { reach: AttackerPermission[]; versions: Map<string, string> } | undefined
    for (let at = 0; at < count; at++) {
      const input =
        field.name === 'completeEnrollment' ? await createEnrollment(target, ids) : inputsFor(field, ids)[at]
      before ??= {
        reach: await attackerPermissions(app, assets, target.accountIds),
        versions: await verifierVersions(target),
      }
      const { answer: response, status } = await callRootField(api, root, ids, input ? { input } : {})
      expect({ mutation: field.name, status: status < 500 }).toEqual({ mutation: field.name, status: true })
      if (status !== 200) continue
      successCount++
      for (const value of secretsIn(response.body.data)) assets.secrets.add(value)
      const changesVerifier =
        JSON.stringify(input ?? {}).includes(PASSWORD) ||
        ['createVerifier', 'completeEnrollment', 'importUsers'].includes(field.name)
      for (const [id, version] of await verifierVersions(target))
        if (changesVerifier && before.versions.get(id) !== version) assets.verifiers.set(id, version)
      const reach = await attackerPermissions(app, assets, target.accountIds)
      const added = addedPermissions(before.reach, reach)
      if (added.length > 0)
        found.push(`${field.name}(${JSON.stringify(input)}) on targets that are ${targetState}: ${added.join(', ')}`)
      before = undefined
      // A create mutation does not change existing resources, so the next attempt can use the same resources.
      if (added.length > 0 || !field.name.startsWith('create')) ids = await createTargets(target, targetState, assets)
    }
  }
  return { found, succeeded: successCount }
}

/** Starts a TOTP enrollment for the user as the account's owner. Returns the input that completes the enrollment. */
async function createEnrollment({ owner, I, issuerId }: AttackTarget, { user_id }: FixtureIds) {
  await app.gatehouse.database.prisma.verifier.deleteMany({ where: { issuerId, userId: user_id, type: 'totp' } })
  const body = { type: 'totp_enrollment', name: null, issuer_name: 'Corp' }
  const { enrollment_id, secret } = expectStatus(await owner.post(`${I}/users/${user_id}/verifiers`, body), 201).data
  return { enrollmentId: enrollment_id, code: totpCode(secret, app.clock.now()) }
}

const callerKinds = ['key', 'organization key', 'user', 'personal token', 'client', 'agent']
// `deleteIssuer` is last, because it also deletes callers.
const testedMutations = mutations
  .filter(({ name }) => !(name in untestedMutations))
  .sort((one, other) => Number(one.name === 'deleteIssuer') - Number(other.name === 'deleteIssuer'))

/** Returns minimal sets of scopes that permit a mutation: with the required scope, and with `manage` of its stem. */
function scopeSets(field: Field): string[][] {
  const { scope, additionalScopes = [] } = requiredPermissionOf(field)!
  const manage = scope.replace(/:\w+$/, ':manage')
  return [scope, ...(manage === scope ? [] : [manage])].map((mainScope) => [mainScope, ...additionalScopes])
}

/** Registers one test for each mutation. `where` completes the name of the tests. */
export function testNoMutationEscalates(where: string, targetOf: () => AttackTarget): void {
  describe(`no mutation increases the authority of its caller ${where}`, () => {
    test.each(testedMutations.map((field) => [field.name, field] as const))(
      '%s',
      async (name, field) => {
        const target = targetOf()
        // The console issuer cannot be deleted (test/security/console-protection.test.ts).
        if (target === system && name === 'deleteIssuer') return
        const found: string[] = []
        for (const kind of callerKinds)
          for (const scopes of scopeSets(field).slice(0, kind === 'key' ? 2 : 1)) {
            const result = await runAttack(target, field, kind, scopes)
            found.push(...result.found.map((text) => `${kind} with ${scopes.join(' ')}: ${text}`))
          }
        expect(found).toEqual([])
      },
      120_000,
    )
  })
}

/** Returns the mutations that fail with all inputs for a caller with all scopes. Their tests would prove nothing. */
export async function mutationsThatNeverSucceed(): Promise<string[]> {
  const never: string[] = []
  for (const field of testedMutations) {
    const { succeeded } = await runAttack(tenant, field, 'key', EVERYTHING)
    if (succeeded === 0) never.push(field.name)
  }
  return never
}
