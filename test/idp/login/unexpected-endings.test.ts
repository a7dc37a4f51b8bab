/** When a login transaction ends unexpectedly, the page says what the user can do next. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { expectStatus } from '../../setup/actors.js'
import { addMethods } from '../../setup/factors.js'
import { codeInMail, linkInMail, waitForMail } from '../../setup/mail.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { waitForLockWaiters } from '../../setup/wait-until.js'
import { errorMessageOf, headingOf, type Page, TestBrowser } from '../browser.js'
import { PASSWORD, Realm, redirectParametersOf, type TestClient } from '../realm.js'

let app: TestApp
let realm: Realm
let client: TestClient

beforeAll(async () => {
  app = await startApp({ roles: ['core', 'idp', 'worker'] })
  realm = await Realm.create(app, 'Open')
  const { owner, I } = realm.tenant
  const { data } = expectStatus(await owner.get(`${I}/auth-methods`), 200)
  expectStatus(await owner.patch(`${I}/auth-methods/${data[0].id}`, { enabled_signup: true }), 200)
  await addMethods(realm, 'totp')
  client = await realm.createClient({ application_type: 'spa' })
})
afterAll(() => app.close())

let count = 0
const address = (): string => `guest-${++count}@example.com`
const leadTextOf = ({ html }: Page): string | undefined => /<p class="lead">(.*?)<\/p>/.exec(html)?.[1]

interface Invited {
  O: string
  id: string
  email: string
  userId: string
  browser: TestBrowser
  /** The sign-in page after the user has opened the invitation link and chosen to sign in. */
  page: Page
}

/** Creates an organization, a user and an invitation, and opens the link in the email. */
async function invited(language = 'en'): Promise<Invited> {
  const { owner, I } = realm.tenant
  const organization = { name: 'Harbour', invitation_enabled: true }
  const O = `${I}/organizations/${expectStatus(await owner.post(`${I}/organizations`, organization), 201).data.id}`
  const email = address()
  const userId = await realm.createUser(email)
  const { id } = expectStatus(await owner.post(`${O}/invitations`, { email }), 201).data
  const browser = new TestBrowser('https://', { 'accept-language': language })
  const start = await browser.open(linkInMail(await waitForMail(app, email)))
  return { O, id, email, userId, browser, page: await browser.submit(start, { method: 'sign_in' }) }
}
const finish = ({ browser, page, email }: Invited): Promise<Page> =>
  browser.submit(page, { username: email, password: PASSWORD })

describe('an invitation that can no longer be accepted at the end of the sign-in', () => {
  const over = {
    heading: 'This invitation is no longer valid',
    lead: /Ask the person who invited you to Harbour for a new/,
  }

  test.each([
    ['was revoked', ({ O, id }: Invited) => realm.tenant.owner.post(`${O}/invitations/${id}/revoke`, {}), 410, over],
    ['its organization was deleted', ({ O }: Invited) => realm.tenant.owner.delete(O), 410, over],
    [
      'its organization was suspended',
      ({ O }: Invited) => realm.tenant.owner.patch(O, { status: 'suspended' }),
      410,
      over,
    ],
    [
      'invitations were switched off',
      ({ O }: Invited) => realm.tenant.owner.patch(O, { invitation_enabled: false }),
      410,
      over,
    ],
    [
      'the organization is full',
      async ({ O }: Invited) => {
        await realm.tenant.owner.post(`${O}/members`, { member_id: await realm.createUser(address()) })
        return realm.tenant.owner.patch(O, { max_members: 1 })
      },
      409,
      {
        heading: 'This organization is full',
        lead: /Harbour has reached its maximum number of members.*open the link in your email again/,
      },
    ],
    [
      'the user is a member already',
      ({ O, userId }: Invited) => realm.tenant.owner.post(`${O}/members`, { member_id: userId }),
      200,
      { heading: 'You are already a member', lead: /already belongs to Harbour/ },
    ],
  ])('%s: a page explains it', async (_, meanwhile, status, { heading, lead }) => {
    const at = await invited()
    expect((await meanwhile(at)).status).toBeLessThan(300)
    const page = await finish(at)
    expect({ status: page.status, heading: headingOf(page), lead: leadTextOf(page) }).toEqual({
      status,
      heading,
      lead: expect.stringMatching(lead),
    })
    expect(page.html).not.toContain('class="detail"')
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
  })

  test('expired: a page in German explains it', async () => {
    const at = await invited('de')
    await app.gatehouse.database.prisma.organizationInvitation.update({ where: { id: at.id }, data: { expiresAt: 1 } })
    const page = await finish(at)
    expect({ status: page.status, heading: headingOf(page), lead: leadTextOf(page) }).toEqual({
      status: 410,
      heading: 'Diese Einladung ist nicht mehr gültig',
      lead: expect.stringMatching(/um eine neue Einladung bitten/),
    })
  })

  test('was revoked during a sign-up: no account is created', async () => {
    const { owner, I } = realm.tenant
    const at = await invited()
    const email = address()
    const { id } = expectStatus(await owner.post(`${at.O}/invitations`, { email }), 201).data
    const browser = new TestBrowser()
    const form = await browser.submit(await browser.open(linkInMail(await waitForMail(app, email))), {
      method: 'sign_up',
    })
    const nextPage = await browser.submit(form, { new_password: PASSWORD, method: 'make' })
    const code = codeInMail(await waitForMail(app, email, 2))
    expectStatus(await owner.post(`${at.O}/invitations/${id}/revoke`, {}), 200)
    expect(headingOf(await browser.submit(nextPage, { code }))).toBe(over.heading)
    expect(expectStatus(await owner.get(`${I}/users`), 200).data).not.toContainEqual(
      expect.objectContaining({ username: email }),
    )
    const { issuerId } = realm.tenant
    expect(await app.gatehouse.database.prisma.user.count({ where: { issuerId, usernameKey: email } })).toBe(0)
  })

  const revoke = (O: string, id: string) => realm.tenant.owner.post(`${O}/invitations/${id}/revoke`, {})

  test.each<[string, (O: string, id: string, submit: () => Promise<Page>) => Promise<Page>]>([
    [
      'was revoked',
      async (O, id, submit) => {
        expectStatus(await revoke(O, id), 200)
        return submit()
      },
    ],
    [
      'is being revoked',
      async (_, id, submit) => {
        let page: Promise<Page> | undefined
        await app.gatehouse.database.prisma.$transaction(async (other) => {
          await other.organizationInvitation.update({ where: { id }, data: { status: 'revoked' } })
          page = submit()
          await waitForLockWaiters(app.gatehouse.database.pool, 1)
        })
        return page!
      },
    ],
  ])('sign-up is by invitation only, further steps are pending, and it %s: no account is created', async (_, end) => {
    const { owner, I, issuerId } = realm.tenant
    const at = await invited()
    const email = address()
    const { id } = expectStatus(await owner.post(`${at.O}/invitations`, { email }), 201).data
    const browser = new TestBrowser()
    const strict = { signup: { mode: 'invite_only' }, security: { mfa_required: true } }
    expectStatus(await owner.patch(I, { settings: strict }), 200)
    try {
      const form = await browser.submit(await browser.open(linkInMail(await waitForMail(app, email))), {
        method: 'sign_up',
      })
      const nextPage = await browser.submit(form, { new_password: PASSWORD, method: 'make' })
      const code = codeInMail(await waitForMail(app, email, 2))
      const page = await end(at.O, id, () => browser.submit(nextPage, { code }))
      expect([page.status, headingOf(page)]).toEqual([410, over.heading])
      expect(await app.gatehouse.database.prisma.user.count({ where: { issuerId, usernameKey: email } })).toBe(0)
    } finally {
      expectStatus(await owner.patch(I, { settings: { signup: null, security: null } }), 200)
    }
  })

  test('was for a full organization: the link works again when the organization has space', async () => {
    const { owner } = realm.tenant
    const at = await invited()
    expectStatus(await owner.post(`${at.O}/members`, { member_id: await realm.createUser(address()) }), 201)
    expectStatus(await owner.patch(at.O, { max_members: 1 }), 200)
    expect((await finish(at)).status).toBe(409)
    expectStatus(await owner.patch(at.O, { max_members: 2 }), 200)
    const again = await at.browser.open(at.page.url)
    expect(headingOf(await finish({ ...at, page: again }))).toBe('Welcome')
  })
})

describe('an inactive issuer accepts no invitation, as at /authorize', () => {
  const statuses = [
    ['disabled', () => realm.tenant.owner],
    ['suspended', () => app.operator],
  ] as const

  test.each(statuses)(
    '%s: links and open login transactions get an error page, and work again afterwards',
    async (status, whose) => {
      const { I } = realm.tenant
      const at = await invited()
      const reset = at.browser.clone()
      const second = await invited()
      const code = await second.browser.submit(await second.browser.submit(second.page, { method: 'reset' }), {
        username: second.email,
      })
      const typed = { code: codeInMail(await waitForMail(app, second.email, 2)) }
      expectStatus(await whose().patch(I, { status }), 200)
      const pages = [
        (await realm.openSignInPage(client)).page,
        await new TestBrowser().open(linkInMail(await waitForMail(app, at.email))),
        await reset.open(at.page.url),
        await finish(at),
        await second.browser.submit(code, typed),
      ]
      expectStatus(await whose().patch(I, { status: 'active' }), 200)
      const [known, ...others] = pages.map((page) => ({
        status: page.status,
        heading: headingOf(page),
        lead: leadTextOf(page),
      }))
      expect(known).toMatchObject({ status: 403 })
      expect(others).toEqual([known, known, known, known])
      // The requests to the inactive issuer have not consumed the code and the invitation.
      expect(headingOf(await second.browser.submit(code, typed))).toBe('Choose a new password')
      expect(headingOf(await finish(at))).toBe('Welcome')
    },
  )
})

describe('a step that this release does not have', () => {
  /** Stores a step in the state of a login transaction, as another release of Gatehouse would store it. */
  async function left(page: Page, step: string): Promise<void> {
    const uid = new URL(page.url).pathname.split('/').at(-1)!
    const text = `UPDATE login_states SET state = jsonb_set(state, '{step}', to_jsonb($1::text)) WHERE uid = $2 RETURNING uid`
    expect(await app.gatehouse.database.query('leave-a-step', text, [step, uid])).toHaveLength(1)
  }

  test.each(['of_tomorrow', '__proto__', 'constructor', ''])('%j: the sign-in restarts', async (step) => {
    const username = address()
    await realm.createUser(username)
    const { browser, page } = await realm.openSignInPage(client)
    const before = await browser.submit(page, { username, password: 'wrong' })
    await left(before, step)
    const shown = await browser.open(before.url)
    expect({ status: shown.status, heading: headingOf(shown), problem: errorMessageOf(shown) }).toEqual({
      status: 200,
      heading: 'Sign in',
      problem: expect.stringMatching(/out of date/),
    })
    expect(redirectParametersOf(await browser.submit(shown, { username, password: PASSWORD }))['code']).toBeDefined()
  })

  test('20 concurrent submissions of an unknown step show the sign-in page again and do not sign in', async () => {
    const username = address()
    await realm.createUser(username)
    const { browser, page } = await realm.openSignInPage(client)
    const before = await browser.submit(page, { username, password: 'wrong' })
    await left(before, 'of_tomorrow')
    const pages = await Promise.all(
      Array.from({ length: 20 }, () => browser.clone().submit(before, { username, password: PASSWORD })),
    )
    for (const nextPage of pages)
      expect([nextPage.status, headingOf(nextPage), errorMessageOf(nextPage)]).toEqual([
        200,
        'Sign in',
        expect.stringMatching(/out of date/),
      ])
    expect(
      redirectParametersOf(await browser.submit(pages[0]!, { username, password: PASSWORD }))['code'],
    ).toBeDefined()
  })

  test('after an invitation link: the invitation is shown again', async () => {
    const at = await invited()
    await left(at.page, 'of_tomorrow')
    const shown = await at.browser.open(at.page.url)
    expect([shown.status, headingOf(shown)]).toEqual([200, 'Join Harbour'])
    const page = await at.browser.submit(shown, { method: 'sign_in' })
    expect(headingOf(await finish({ ...at, page }))).toBe('Welcome')
  })
})
