/** Invitations to organizations (issue of the whole Core API; spec 2.8 invitation_enabled; security rules 1, 9, 19, 20). */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { systemContext } from '../../src/platform/jobs.js'
import { sha256 } from '../../src/platform/secrets.js'
import { acceptInvitation } from '../../src/resources/organizations/accept-invitation.js'
import { INVITATION_LIFE } from '../../src/resources/organizations/invitations.js'
import { keyWith, makeTenant, must, type Tenant } from '../setup/actors.js'
import type { Api, Loose } from '../setup/api.js'
import { mailTo } from '../setup/mail.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { fresh } from './world.js'

let app: TestApp
let tenant: Tenant
let owner: Api

beforeAll(async () => {
  app = await startApp({ roles: ['core', 'idp', 'worker'] })
  tenant = await makeTenant(app, 'Acme')
  owner = tenant.owner
})
afterAll(() => app.close())

const address = () => `${fresh('guest')}@example.com`
const person = async (username = address(), at = tenant): Promise<string> =>
  must(await at.owner.post(`${at.I}/users`, { username_type: 'email', username }), 201).data.id
const organization = async (body: object = {}): Promise<string> => {
  const made = await owner.post(`${tenant.I}/organizations`, { invitation_enabled: true, ...body })
  return `${tenant.I}/organizations/${must(made, 201).data.id}`
}
const invite = async (O: string, body: object = {}): Promise<Loose> =>
  must(await owner.post(`${O}/invitations`, { email: address(), ...body }), 201).data
const accept = (token: string, userId: string, issuerId = tenant.issuerId) =>
  acceptInvitation(systemContext(app.gatehouse), sha256(token), { id: userId, issuerId })
const status = async (O: string, id: string) => must(await owner.get(`${O}/invitations/${id}`), 200).data.status

test('an invitation gives its token once, and the member what it says', async () => {
  const O = await organization()
  const group = must(await owner.post(`${O}/groups`, { name: 'G', scopes: ['of:group'] }), 201).data.id
  const made = await invite(O, { scopes: ['own'], groups: [group], message: 'Come!' })
  expect(made).toMatchObject({
    id: expect.stringMatching(/^inv_/),
    scopes: ['own'],
    groups: [group],
    message: 'Come!',
    status: 'pending',
    accepted_at: null,
  })
  expect(made.expires_at - made.created_at).toBe(INVITATION_LIFE)
  for (const path of [`${O}/invitations`, `${O}/invitations/${made.id}`]) {
    const read = await owner.get(path)
    expect(read.text).toContain(made.email)
    expect(read.text).not.toContain('token')
  }
  const userId = await person()
  expect(await accept(made.token_plain, userId)).toMatchObject({ userId, scopes: ['own'] })
  expect(must(await owner.get(`${O}/members/${userId}`), 200).data.effective_scopes).toEqual(['of:group', 'own'])
  expect(must(await owner.get(`${O}/invitations/${made.id}`), 200).data).toMatchObject({
    status: 'accepted',
    accepted_by_user_id: userId,
  })
  const { prisma } = app.gatehouse.tools
  const stored = await prisma.organizationInvitation.findUniqueOrThrow({ where: { id: made.id } })
  expect(JSON.stringify(stored, (_, v) => (typeof v === 'bigint' ? Number(v) : v))).not.toContain(made.token_plain)
  const events = await prisma.event.findMany({ where: { orgId: made.org_id }, orderBy: { id: 'asc' } })
  expect(events.map(({ type }) => type)).toEqual([
    'organization.created',
    'organization.group.created',
    'organization.invitation.created',
    'organization.membership.created',
    'organization.invitation.accepted',
  ])
  const told = JSON.stringify(events, (_, v) => (typeof v === 'bigint' ? Number(v) : v))
  for (const secret of [made.token_plain, stored.tokenHash]) expect(told).not.toContain(secret)
})

test('only where invitation_enabled, and for an address that is one', async () => {
  const closed = await organization({ invitation_enabled: false })
  must(await owner.post(`${closed}/invitations`, { email: address() }), 400)
  const O = await organization()
  for (const [field, body] of [
    ['email', {}],
    ['email', { email: 'nobody' }],
    ['email', { email: 'a b@example.com' }],
    ['groups[0]', { email: address(), groups: ['grp_x'] }],
    ['role', { email: address(), role: 'admin' }],
  ] as const) {
    const answer = await owner.post(`${O}/invitations`, body)
    expect({ status: answer.status, field: answer.body.details?.[0].field }).toEqual({ status: 400, field })
  }
})

test('a token works once: of 20 people who come with it one is let in', async () => {
  const O = await organization()
  const { token_plain } = await invite(O)
  const people = await Promise.all(Array.from({ length: 20 }, () => person()))
  const results = await Promise.allSettled(people.map((userId) => accept(token_plain, userId)))
  expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1)
  expect(must(await owner.get(`${O}/members`), 200).data).toHaveLength(1)
})

test('a token that is wrong, expired, revoked, replaced or of another issuer lets nobody in', async () => {
  const O = await organization()
  const userId = await person()
  const refused = async (token: string, id = userId, issuerId?: string) =>
    expect(accept(token, id, issuerId)).rejects.toMatchObject({ code: 'not_found' })
  await refused('x')
  const revoked = await invite(O)
  must(await owner.post(`${O}/invitations/${revoked.id}/revoke`), 200)
  await refused(revoked.token_plain)
  const resent = await invite(O)
  const again = must(await owner.post(`${O}/invitations/${resent.id}/resend`), 200).data
  expect(again.token_plain).not.toBe(resent.token_plain)
  await refused(resent.token_plain)
  const other = await makeTenant(app, 'Other')
  const stranger = await person(address(), other)
  await refused(again.token_plain, stranger, other.issuerId)
  await refused(again.token_plain, stranger)
  must(await owner.patch(`${tenant.I}/users/${userId}`, { status: 'suspended' }), 200)
  await refused(again.token_plain)
  must(await owner.patch(`${tenant.I}/users/${userId}`, { status: 'active' }), 200)
  must(await owner.patch(O, { invitation_enabled: false }), 200)
  await refused(again.token_plain)
  must(await owner.patch(O, { invitation_enabled: true, status: 'suspended' }), 200)
  await refused(again.token_plain)
  must(await owner.patch(O, { status: 'active' }), 200)
  app.clock.advance(INVITATION_LIFE)
  expect(await status(O, again.id)).toBe('expired')
  await refused(again.token_plain)
  const renewed = must(await owner.post(`${O}/invitations/${again.id}/resend`), 200).data
  expect(renewed.status).toBe('pending')
  await accept(renewed.token_plain, userId)
})

test('who cannot become a member leaves the invitation as it was', async () => {
  const O = await organization({ max_members: 1 })
  const made = await invite(O)
  const userId = await person()
  must(await owner.post(`${O}/members`, { member_id: userId }), 201)
  await expect(accept(made.token_plain, userId)).rejects.toMatchObject({ code: 'conflict' })
  const late = await person()
  await expect(accept(made.token_plain, late)).rejects.toMatchObject({ code: 'conflict' })
  expect(await status(O, made.id)).toBe('pending')
  must(await owner.patch(O, { max_members: 2 }), 200)
  await accept(made.token_plain, late)
})

test('an address has one open invitation, also of 20 at once; a member’s address is 409', async () => {
  const O = await organization()
  const email = address()
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      owner.post(`${O}/invitations`, { email: i % 2 ? email : email.toUpperCase() }),
    ),
  )
  expect(answers.map((answer) => answer.status).sort()).toEqual([201, ...Array(19).fill(409)])
  const { id } = answers.find((answer) => answer.status === 201)!.body.data
  must(await owner.post(`${O}/invitations/${id}/revoke`), 200)
  const second = await invite(O, { email })
  must(await owner.post(`${O}/invitations/${id}/resend`), 400)
  app.clock.advance(INVITATION_LIFE)
  const third = await invite(O, { email })
  expect(await status(O, second.id)).toBe('expired')
  must(await owner.post(`${O}/invitations/${second.id}/resend`), 409)
  const userId = await person(email)
  await accept(third.token_plain, userId)
  must(await owner.post(`${O}/invitations`, { email }), 409)
})

test('revoking twice changes nothing, an accepted one is 400; the list knows the states', async () => {
  const O = await organization()
  const [open, taken, gone] = [await invite(O), await invite(O), await invite(O)]
  await accept(taken.token_plain, await person())
  const first = must(await owner.post(`${O}/invitations/${gone.id}/revoke`), 200)
  expect(must(await owner.post(`${O}/invitations/${gone.id}/revoke`), 200)).toEqual(first)
  must(await owner.post(`${O}/invitations/${taken.id}/revoke`), 400)
  must(await owner.post(`${O}/invitations/${taken.id}/resend`), 400)
  const by = async (query: string) =>
    must(await owner.get(`${O}/invitations?${query}`), 200).data.map(({ id }: Loose) => id)
  expect(await by('')).toEqual([gone.id, taken.id, open.id])
  expect([
    await by('status=pending'),
    await by('status=accepted'),
    await by('status=revoked'),
    await by('status=expired'),
  ]).toEqual([[open.id], [taken.id], [gone.id], []])
  app.clock.advance(INVITATION_LIFE)
  expect([await by('status=pending'), await by('status=expired')]).toEqual([[], [open.id]])
  expect(await by('limit=1')).toEqual([gone.id])
  expect(await by(`cursor=${gone.id}&limit=1`)).toEqual([taken.id])
})

test('nobody gives by invitation what they lack', async () => {
  const O = await organization()
  const strong = must(await owner.post(`${O}/groups`, { name: 'Strong', scopes: ['svc:all'] }), 201).data.id
  const weak = await keyWith(tenant, { scopes: ['issuers.organizations.members:manage'] })
  must(await weak.post(`${O}/invitations`, { email: address(), scopes: ['api_keys:read'] }), 403)
  must(await weak.post(`${O}/invitations`, { email: address(), groups: [strong] }), 403)
  must(await weak.post(`${O}/invitations`, { email: address(), scopes: ['own'] }), 201)
  const made = await invite(O, { groups: [strong] })
  must(await weak.post(`${O}/invitations/${made.id}/resend`), 403)
  must(await weak.post(`${O}/invitations/${made.id}/revoke`), 200)
})

test.each<[string, string | null, string | undefined, string | null]>([
  ['its own message, if it has one', 'Welcome to Tulips.', 'Come to us!', 'Come to us!'],
  ['else invitation_message of the organization', 'Welcome to Tulips.', undefined, 'Welcome to Tulips.'],
  ['else none', null, undefined, null],
])('2.8: an invitation is mailed with %s', async (_, invitation_message, message, expected) => {
  const O = await organization({ invitation_message })
  const { email } = await invite(O, { ...(message && { message }) })
  const mail = await mailTo(app, email)
  if (expected) expect(mail.text).toContain(expected)
  for (const other of ['Come to us!', 'Welcome to Tulips.'].filter((text) => text !== expected))
    expect(mail.text).not.toContain(other)
})
