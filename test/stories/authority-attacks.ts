/**
 * Authority cannot grow (docs/contract.md#authority-for-changes, docs/contract.md#authority-cannot-grow): every
 * mutation of the schema runs with every single scope that permits it, by every kind of caller, on targets with more
 * authority, with inputs that an attacker would choose. Then attacker-permissions.ts computes the caller's permissions,
 * which must not have grown. Mutations and inputs come from the schema, so a new mutation is covered automatically.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type GraphQLField, type GraphQLInputType, getNamedType, isEnumType, isInputObjectType } from 'graphql'
import { requiredPermissionOf } from '../../src/graphql/required-permissions.js'
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

/** Mutations that cannot succeed here or must not run, each with its reason. */
export const untestedMutations: Record<string, string> = {
  createAccount: 'Only operators create accounts, and a new account contains nothing of other accounts.',
  createTopup: 'It transfers money to the account through a facilitator; credit grants no authority.',
  verifyDomain: 'It asks a name server. A verified domain has no effect until assignDomain, which is run here.',
}

let app: TestApp
export let tenant: AttackTarget
export let system: AttackTarget

/** The issuer and the account of callers and targets. */
interface AttackTarget extends Tenant {
  app: TestApp
  /** An organization whose keys are among the callers. */
  orgId: string
  base: FixtureIds
  roots: RootField[]
  /** The issuer's authentication methods, to be restored for each set of targets. */
  methods: Prisma.AuthMethodCreateManyInput[]
  /** Accounts whose rows determine the permissions. */
  accountIds: string[]
  callers: Record<string, (scopes: string[]) => Promise<{ api: ApiClient; secret: string }>>
}

beforeAll(async () => {
  app = await startApp()
  tenant = await createTenantTarget()
  system = await createSystemTarget()
}, 60_000)
afterAll(() => app.close())

async function createTenantTarget(): Promise<AttackTarget> {
  const made = await createTenant(app, 'Target')
  const prepared = await prepareTarget(made)
  const orgId = prepared.base.org_id
  return { ...made, ...prepared, app, orgId, accountIds: [made.accountId], callers: await createCallers(made, orgId) }
}

/** The console issuer, with an account whose owner and administrators sign in there. */
async function createSystemTarget(): Promise<AttackTarget> {
  const [{ id: accountId }] = expectStatus(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
  const A = `/v1/accounts/${accountId}`
  const [{ id: issuerId }] = expectStatus(await app.operator.get(`${A}/issuers`), 200).data.slice(-1)
  const made = { app, accountId, issuerId, A, I: `${A}/issuers/${issuerId}`, owner: app.operator }
  const administered = expectStatus(await tenant.owner.get(tenant.A), 200).data
  const prepared = await prepareTarget(made)
  const orgId = administered.admin_org_id
  const accountIds = [accountId, tenant.accountId]
  return { ...made, ...prepared, orgId, accountIds, callers: await createCallers(made, orgId) }
}

async function prepareTarget(made: Tenant): Promise<Pick<AttackTarget, 'base' | 'roots' | 'methods'>> {
  const { owner, I, issuerId } = made
  const upstream = { issuer_url: 'https://idp.example.com', client_id: 'c', client_secret: 's' }
  const methods = [
    { name: 'Code by mail', method: 'email_otp' },
    { name: 'App', method: 'totp' },
    { name: 'Corp', method: 'oidc', first_factor_only: true, settings: upstream },
  ]
  for (const method of methods) await owner.post(`${I}/auth-methods`, method)
  const { ids: base } = await createTenantResources(made)
  const rows = await app.gatehouse.database.prisma.authMethod.findMany({ where: { issuerId } })
  return { base, roots: await readRootFields(owner), methods: rows as Prisma.AuthMethodCreateManyInput[] }
}

/** Every kind of caller, with exactly these scopes. */
async function createCallers(made: Tenant, orgId: string): Promise<AttackTarget['callers']> {
  const { accountId, issuerId, owner } = made
  const { prisma } = app.gatehouse.database
  const withSecret = (api: ApiClient): { api: ApiClient; secret: string } => {
    const [scheme, value = ''] = (api.authorization ?? '').split(' ')
    const text = scheme === 'Basic' ? Buffer.from(value, 'base64').toString() : value
    return { api, secret: scheme === 'Basic' ? text.slice(text.indexOf(':') + 1) : text }
  }
  const realm = new Realm(app, made)
  const username = `${uniqueName('caller')}@${HOST}`
  const userId = await realm.createUser(username)
  const application = await realm.createClient(
    { allowed_resources: [app.baseUrl] },
    { settings: { scopes: EVERYTHING } },
  )
  const params = { resource: app.baseUrl, scope: `openid ${EVERYTHING}`, redirect_uri: REDIRECT_URI }
  const { access_token } = await realm.signInForTokens(application, username, params)
  /** At the console issuer, a membership grants authority. */
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
      return withSecret(await createRestrictedKey(made, { scopes }))
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
      const made_ = await createPersonalTokenClient(made, userId, { scopes })
      await grantScopes(userId, scopes)
      return withSecret(made_)
    },
    client: async (scopes) => {
      if (latest.client) await prisma.client.deleteMany({ where: { id: latest.client } })
      const caller = withSecret(await createMachineClient(made, scopes))
      const [row] = await prisma.client.findMany({ where: { issuerId }, orderBy: { id: 'desc' }, take: 1 })
      latest.client = row!.id
      const secrets = [...(row!.secrets as object[]), { hash: sha256(caller.secret), expires_at: null }]
      await prisma.client.update({ where: { id: row!.id }, data: { secrets: secrets as never } })
      return caller
    },
    agent: async (scopes) => {
      if (latest.agent) await prisma.agent.deleteMany({ where: { id: latest.agent } })
      const { id } = expectStatus(await owner.post(`${made.I}/agents`, { name: uniqueName('agent'), scopes }), 201).data
      latest.agent = id
      const verifiers = `${made.I}/agents/${id}/verifiers`
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
 * Targets with full authority. `active`: enabled, and the attacker lacks one step to act as them. `stopped`: the attacker
 * knows their secrets, but they are disabled or suspended.
 */
type TargetState = 'active, unknown' | 'active, behind a second factor' | 'stopped'
const targetStates: TargetState[] = ['active, unknown', 'active, behind a second factor', 'stopped']

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
  // An account that the boss owns and administers, where it is a user of the console issuer.
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
  // In the other states, an assigned domain of the attacker would give it the authority from the start.
  if (targetState !== 'active, unknown')
    await prisma.domain.update({ where: { id: domain.id }, data: { host: `${uniqueName('own')}.corp.example` } })
  const webhook_id = await createTargetWebhook(target, isStopped)
  const { domain: _, ...base } = target.base
  const things = await createOtherTargets(target, strongUserId, webhook_id)
  const ids = {
    ...base,
    ...strong,
    ...things,
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

/** Deletes the rows of earlier targets, which would slow down the computation of permissions. */
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

/** Deletes issuers or organizations that attacks created, with all rows that refer to them. */
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
  security: { mfa_required: true },
  signup: { mode: 'invite_only', allowed_domains: ['corp.example'] },
}

/** An organization with strong members; at the console issuer one that administers an account. */
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
    // Among administrators, this would give the attacker authority from the start.
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

/** Creates the resources without authority that mutations change or delete, for each target. */
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
  return { token_id: token.id, note_id: note.id, delivery_id: delivery.id, payment_method_id: payment.id }
}

/** A webhook of another caller with few event types, or a disabled one of the attacker. */
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

/** Values that an attacker writes into a field, by field name. Booleans and enums are tried with all of their values. */
const hostileFieldValues: Record<string, (ids: FixtureIds, place: AttackTarget) => unknown[]> = {
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
  ],
}

/** Inputs with several related fields, in addition to the inputs that vary one field. */
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

/** The inputs to try: a valid one, then the same with one field at a time set to an attacker's value. */
function inputsFor(field: Field, ids: FixtureIds, target: AttackTarget): (object | undefined)[] {
  const input = field.args.find(({ name }) => name === 'input')
  if (!input) return [undefined]
  const good = Object.fromEntries(
    Object.entries(requestBodies[field.name]?.(ids) ?? {}).map(([key, value]) => [camel(key), value]),
  )
  const type = getNamedType(input.type)
  const fields = isInputObjectType(type) ? Object.values(type.getFields()) : []
  const single = fields.flatMap(({ name, type: of }) =>
    hostileValuesFor(name, of, ids, target).map((value) => ({ ...good, [name]: value })),
  )
  return [good, ...(hostileInputs[field.name]?.(ids) ?? []), ...single]
}

function hostileValuesFor(name: string, type: GraphQLInputType, ids: FixtureIds, place: AttackTarget): unknown[] {
  if (/scopes$/i.test(name)) return [EVERYTHING]
  const byName = hostileFieldValues[name]?.(ids, place)
  if (byName) return byName
  const of = getNamedType(type)
  if (isEnumType(of)) return of.getValues().map(({ name: value }) => value)
  return of.name === 'Boolean' ? [true, false] : []
}

/** Secrets in a response. */
function secretsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(secretsIn)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, one]) =>
    typeof one === 'string' && /secret|plain|token/i.test(name) ? [one] : secretsIn(one),
  )
}

/** Current versions of the verifiers: the caller knows those that its mutation created or changed. */
async function verifierVersions({ issuerId }: AttackTarget): Promise<Map<string, string>> {
  const rows = await app.gatehouse.database.prisma.verifier.findMany({
    where: { issuerId },
    select: { id: true, updatedAt: true },
  })
  return new Map(rows.map(({ id, updatedAt }) => [id, String(updatedAt)]))
}

/** Whether the guard permits this caller the mutation at this resource path. */
async function mayRun(
  { accountId, issuerId, orgId }: AttackTarget,
  api: ApiClient,
  { name, args }: Field,
): Promise<boolean> {
  const document =
    'query ($a: ID!, $i: ID, $o: ID) { permissions(accountId: $a, issuerId: $i, orgId: $o) { mutations } }'
  const takes = (argument: string) => args.some((one) => one.name === argument)
  const place = { a: accountId, ...(takes('issuerId') && { i: issuerId }), ...(takes('orgId') && { o: orgId }) }
  const { body } = await api.graphql(document, place)
  // A caller without any authority here gets NOT_FOUND. Any other error means that the caller itself is no longer valid.
  if (!body.data) expect(body.errors).toMatchObject([{ extensions: { code: 'NOT_FOUND' } }])
  return body.data?.permissions.mutations.includes(name) ?? false
}

/** Runs a mutation with all inputs; returns the permissions gained and the number of successes. */
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
    const count = inputsFor(field, ids, target).length
    // A failed mutation changes nothing.
    let before: { reach: AttackerPermission[]; versions: Map<string, string> } | undefined
    for (let at = 0; at < count; at++) {
      const input =
        field.name === 'completeEnrollment' ? await createEnrollment(target, ids) : inputsFor(field, ids, target)[at]
      before ??= {
        reach: await attackerPermissions(app, assets, target.accountIds),
        versions: await verifierVersions(target),
      }
      const { answer, status } = await callRootField(api, root, ids, input ? { input } : {})
      expect({ mutation: field.name, status: status < 500 }).toEqual({ mutation: field.name, status: true })
      if (status !== 200) continue
      successCount++
      for (const one of secretsIn(answer.body.data)) assets.secrets.add(one)
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
      // A mutation that only creates leaves the targets unchanged.
      if (added.length > 0 || !field.name.startsWith('create')) ids = await createTargets(target, targetState, assets)
    }
  }
  return { found, succeeded: successCount }
}

/** An enrollment of the target that an authorized caller started, with the code that completes it. */
async function createEnrollment({ owner, I, issuerId }: AttackTarget, { user_id }: FixtureIds) {
  await app.gatehouse.database.prisma.verifier.deleteMany({ where: { issuerId, userId: user_id, type: 'totp' } })
  const body = { type: 'totp_enrollment', name: null, issuer_name: 'Corp' }
  const { enrollment_id, secret } = expectStatus(await owner.post(`${I}/users/${user_id}/verifiers`, body), 201).data
  return { enrollmentId: enrollment_id, code: totpCode(secret, app.clock.now()) }
}

const callerKinds = ['key', 'organization key', 'user', 'personal token', 'client', 'agent']
// The issuer is deleted last because its deletion also deletes the callers.
const testedMutations = mutations
  .filter(({ name }) => !(name in untestedMutations))
  .sort((one, other) => Number(one.name === 'deleteIssuer') - Number(other.name === 'deleteIssuer'))

/** Minimal sets of scopes that permit a mutation. */
function scopeSets(field: Field): string[][] {
  const { scope, additionalScope } = requiredPermissionOf(field)!
  const manage = scope.replace(/:\w+$/, ':manage')
  return [scope, ...(manage === scope ? [] : [manage])].map((one) => [
    one,
    ...(additionalScope ? [additionalScope] : []),
  ])
}

/** Registers one test for each mutation, with these targets. */
export function testNoMutationEscalates(where: string, targetOf: () => AttackTarget): void {
  describe(`no mutation increases the authority of its caller, ${where}`, () => {
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
            found.push(...result.found.map((one) => `${kind} with ${scopes.join(' ')}: ${one}`))
          }
        expect(found).toEqual([])
      },
      120_000,
    )
  })
}

/** Names of mutations that never succeed for a caller with all scopes, so that their tests would prove nothing. */
export async function mutationsThatNeverSucceed(): Promise<string[]> {
  const never: string[] = []
  for (const field of testedMutations) {
    const { succeeded } = await runAttack(tenant, field, 'key', EVERYTHING)
    if (succeeded === 0) never.push(field.name)
  }
  return never
}
