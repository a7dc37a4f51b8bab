/**
 * Invitations to organizations (docs/contract.md#invitations, docs/contract.md#single-use-values,
 * docs/contract.md#no-granting-beyond-the-callers-authority, docs/contract.md#secret-storage,
 * docs/contract.md#secrets-in-logs-and-events).
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { limits } from '../../src/kernel/limits.js'
import { sha256 } from '../../src/platform/crypto/secrets.js'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { acceptInvitation } from '../../src/resources/organizations/invitation-acceptance.js'
import { createRestrictedKey, createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import type { AnyJson, ApiClient } from '../setup/api.js'
import { waitForMail } from '../setup/mail.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { uniqueName } from './tenant-fixture.js'

let app: TestApp
let tenant: Tenant
let owner: ApiClient

beforeAll(async () => {
  app = await startApp({ roles: ['core', 'idp', 'worker'] })
  tenant = await createTenant(app, 'Acme')
  owner = tenant.owner
})
afterAll(() => app.close())

const address = () => `${uniqueName('guest')}@example.com`
const person = async (username = address(), at = tenant): Promise<string> =>
  expectStatus(await at.owner.post(`${at.I}/users`, { username_type: 'email', username }), 201).data.id
const organization = async (body: object = {}): Promise<string> => {
  const response = await owner.post(`${tenant.I}/organizations`, { invitation_enabled: true, ...body })
  return `${tenant.I}/organizations/${expectStatus(response, 201).data.id}`
}
const invite = async (O: string, body: object = {}): Promise<AnyJson> =>
  expectStatus(await owner.post(`${O}/invitations`, { email: address(), ...body }), 201).data
const accept = (token: string, userId: string, issuerId = tenant.issuerId) =>
  acceptInvitation(systemContext(app.gatehouse), sha256(token), { id: userId, issuerId })
const status = async (O: string, id: string) => expectStatus(await owner.get(`${O}/invitations/${id}`), 200).data.status

test('an invitation shows its token once and gives the member its scopes, groups and title', async () => {
  const O = await organization()
  const group = expectStatus(await owner.post(`${O}/groups`, { name: 'G', scopes: ['of:group'] }), 201).data.id
  const invitation = await invite(O, { scopes: ['own'], groups: [group], message: 'Come!' })
  expect(invitation).toMatchObject({
    id: expect.stringMatching(/^inv_/),
    scopes: ['own'],
    groups: [group],
    message: 'Come!',
    status: 'pending',
    accepted_at: null,
  })
  expect(invitation.expires_at - invitation.created_at).toBe(limits.invitationLifetime)
  for (const path of [`${O}/invitations`, `${O}/invitations/${invitation.id}`]) {
    const read = await owner.get(path)
    expect(read.text).toContain(invitation.email)
    expect(read.text).not.toContain('token')
  }
  const userId = await person()
  expect(await accept(invitation.token_plain, userId)).toMatchObject({ userId, scopes: ['own'] })
  expect(expectStatus(await owner.get(`${O}/members/${userId}`), 200).data.effective_scopes).toEqual([
    'of:group',
    'own',
  ])
  expect(expectStatus(await owner.get(`${O}/invitations/${invitation.id}`), 200).data).toMatchObject({
    status: 'accepted',
    accepted_by_user_id: userId,
  })
  const { prisma } = app.gatehouse.database
  const stored = await prisma.organizationInvitation.findUniqueOrThrow({ where: { id: invitation.id } })
  expect(JSON.stringify(stored, (_, v) => (typeof v === 'bigint' ? Number(v) : v))).not.toContain(
    invitation.token_plain,
  )
  const events = await prisma.event.findMany({ where: { orgId: invitation.org_id }, orderBy: { id: 'asc' } })
  expect(events.map(({ type }) => type)).toEqual([
    'organization.created',
    'organization.group.created',
    'organization.invitation.created',
    'organization.membership.created',
    'organization.invitation.accepted',
  ])
  const recorded = JSON.stringify(events, (_, v) => (typeof v === 'bigint' ? Number(v) : v))
  for (const secret of [invitation.token_plain, stored.tokenHash]) expect(recorded).not.toContain(secret)
})

test('only where invitation_enabled, and only for a valid email address', async () => {
  const closed = await organization({ invitation_enabled: false })
  expectStatus(await owner.post(`${closed}/invitations`, { email: address() }), 400)
  const O = await organization()
  for (const [field, body] of [
    ['email', {}],
    ['email', { email: 'not-an-email' }],
    ['email', { email: 'a b@example.com' }],
    ['groups[0]', { email: address(), groups: ['grp_x'] }],
    ['role', { email: address(), role: 'admin' }],
  ] as const) {
    const response = await owner.post(`${O}/invitations`, body)
    expect({ status: response.status, field: response.body.details?.[0].field }).toEqual({ status: 400, field })
  }
})

test('a token works once: of 20 parallel uses one succeeds', async () => {
  const O = await organization()
  const { token_plain } = await invite(O)
  const people = await Promise.all(Array.from({ length: 20 }, () => person()))
  const results = await Promise.allSettled(people.map((userId) => accept(token_plain, userId)))
  expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1)
  expect(expectStatus(await owner.get(`${O}/members`), 200).data).toHaveLength(1)
})

test('a token that is wrong, expired, revoked, replaced or of another issuer is refused', async () => {
  const O = await organization()
  const userId = await person()
  const refused = async (token: string, id = userId, issuerId?: string) =>
    expect(accept(token, id, issuerId)).rejects.toMatchObject({ code: 'not_found' })
  await refused('x')
  const revoked = await invite(O)
  expectStatus(await owner.post(`${O}/invitations/${revoked.id}/revoke`), 200)
  await refused(revoked.token_plain)
  const resent = await invite(O)
  const again = expectStatus(await owner.post(`${O}/invitations/${resent.id}/resend`), 200).data
  expect(again.token_plain).not.toBe(resent.token_plain)
  await refused(resent.token_plain)
  const other = await createTenant(app, 'Other')
  const otherUser = await person(address(), other)
  await refused(again.token_plain, otherUser, other.issuerId)
  await refused(again.token_plain, otherUser)
  expectStatus(await owner.patch(`${tenant.I}/users/${userId}`, { status: 'suspended' }), 200)
  await refused(again.token_plain)
  expectStatus(await owner.patch(`${tenant.I}/users/${userId}`, { status: 'active' }), 200)
  expectStatus(await owner.patch(O, { invitation_enabled: false }), 200)
  await refused(again.token_plain)
  expectStatus(await owner.patch(O, { invitation_enabled: true, status: 'suspended' }), 200)
  await refused(again.token_plain)
  expectStatus(await owner.patch(O, { status: 'active' }), 200)
  app.clock.advance(limits.invitationLifetime)
  expect(await status(O, again.id)).toBe('expired')
  await refused(again.token_plain)
  const renewed = expectStatus(await owner.post(`${O}/invitations/${again.id}/resend`), 200).data
  expect(renewed.status).toBe('pending')
  await accept(renewed.token_plain, userId)
})

test('a user who cannot become a member leaves the invitation unchanged', async () => {
  const O = await organization({ max_members: 1 })
  const invitation = await invite(O)
  const userId = await person()
  expectStatus(await owner.post(`${O}/members`, { member_id: userId }), 201)
  await expect(accept(invitation.token_plain, userId)).rejects.toMatchObject({ code: 'conflict' })
  const late = await person()
  await expect(accept(invitation.token_plain, late)).rejects.toMatchObject({ code: 'conflict' })
  expect(await status(O, invitation.id)).toBe('pending')
  expectStatus(await owner.patch(O, { max_members: 2 }), 200)
  await accept(invitation.token_plain, late)
})

test('an address has one open invitation, also under 20 parallel requests; the address of a member is 409', async () => {
  const O = await organization()
  const email = address()
  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      owner.post(`${O}/invitations`, { email: i % 2 ? email : email.toUpperCase() }),
    ),
  )
  expect(responses.map((response) => response.status).sort()).toEqual([201, ...Array(19).fill(409)])
  const { id } = responses.find((response) => response.status === 201)!.body.data
  expectStatus(await owner.post(`${O}/invitations/${id}/revoke`), 200)
  const second = await invite(O, { email })
  expectStatus(await owner.post(`${O}/invitations/${id}/resend`), 400)
  app.clock.advance(limits.invitationLifetime)
  const third = await invite(O, { email })
  expect(await status(O, second.id)).toBe('expired')
  expectStatus(await owner.post(`${O}/invitations/${second.id}/resend`), 409)
  const userId = await person(email)
  await accept(third.token_plain, userId)
  expectStatus(await owner.post(`${O}/invitations`, { email }), 409)
})

test('revoking twice changes nothing, revoking an accepted one is 400; the list filters by status', async () => {
  const O = await organization()
  const [open, taken, gone] = [await invite(O), await invite(O), await invite(O)]
  await accept(taken.token_plain, await person())
  const first = expectStatus(await owner.post(`${O}/invitations/${gone.id}/revoke`), 200)
  expect(expectStatus(await owner.post(`${O}/invitations/${gone.id}/revoke`), 200)).toEqual(first)
  expectStatus(await owner.post(`${O}/invitations/${taken.id}/revoke`), 400)
  expectStatus(await owner.post(`${O}/invitations/${taken.id}/resend`), 400)
  const by = async (query: string) =>
    expectStatus(await owner.get(`${O}/invitations?${query}`), 200).data.map(({ id }: AnyJson) => id)
  expect(await by('')).toEqual([gone.id, taken.id, open.id])
  expect([
    await by('status=pending'),
    await by('status=accepted'),
    await by('status=revoked'),
    await by('status=expired'),
  ]).toEqual([[open.id], [taken.id], [gone.id], []])
  app.clock.advance(limits.invitationLifetime)
  expect([await by('status=pending'), await by('status=expired')]).toEqual([[], [open.id]])
  expect(await by('limit=1')).toEqual([gone.id])
  expect(await by(`cursor=${gone.id}&limit=1`)).toEqual([taken.id])
})

test('a caller cannot invite with scopes that it lacks', async () => {
  const O = await organization()
  const strong = expectStatus(await owner.post(`${O}/groups`, { name: 'Strong', scopes: ['svc:all'] }), 201).data.id
  const weak = await createRestrictedKey(tenant, { scopes: ['issuers.organizations.members:manage'] })
  expectStatus(await weak.post(`${O}/invitations`, { email: address(), scopes: ['api_keys:read'] }), 403)
  expectStatus(await weak.post(`${O}/invitations`, { email: address(), groups: [strong] }), 403)
  expectStatus(await weak.post(`${O}/invitations`, { email: address(), scopes: ['own'] }), 201)
  const invitation = await invite(O, { groups: [strong] })
  expectStatus(await weak.post(`${O}/invitations/${invitation.id}/resend`), 403)
  expectStatus(await weak.post(`${O}/invitations/${invitation.id}/revoke`), 200)
})

test.each<[string, string | null, string | undefined, string | null]>([
  ['its own message, if present', 'Welcome to Tulips.', 'Come to us!', 'Come to us!'],
  ['otherwise invitation_message of the organization', 'Welcome to Tulips.', undefined, 'Welcome to Tulips.'],
  ['otherwise no message', null, undefined, null],
])('an invitation is mailed with %s', async (_, invitation_message, message, expected) => {
  const O = await organization({ invitation_message })
  const { email } = await invite(O, { ...(message && { message }) })
  const mail = await waitForMail(app, email)
  if (expected) expect(mail.text).toContain(expected)
  for (const other of ['Come to us!', 'Welcome to Tulips.'].filter((text) => text !== expected))
    expect(mail.text).not.toContain(other)
})
