/** Where a way through the pages ends unforeseen: the person is told what to do next (issue 4 item 1). */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { must } from '../../setup/actors.js'
import { addMethods } from '../../setup/factors.js'
import { codeIn, linkIn, mailTo } from '../../setup/mail.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { headingOf, type Page, problemOf, TestBrowser } from '../browser.js'
import { PASSWORD, Realm, redirectOf, type TestClient } from '../setup.js'

let app: TestApp
let realm: Realm
let client: TestClient

beforeAll(async () => {
  app = await startApp({ roles: ['core', 'idp', 'worker'] })
  realm = await Realm.make(app, 'Open')
  const { owner, I } = realm.tenant
  const { data } = must(await owner.get(`${I}/auth-methods`), 200)
  must(await owner.patch(`${I}/auth-methods/${data[0].id}`, { enabled_signup: true }), 200)
  await addMethods(realm, 'totp')
  client = await realm.client({ application_type: 'spa' })
})
afterAll(() => app.close())

let count = 0
const address = (): string => `guest-${++count}@example.com`
const leadOf = ({ html }: Page): string | undefined => /<p class="lead">(.*?)<\/p>/.exec(html)?.[1]

interface Invited {
  O: string
  id: string
  email: string
  userId: string
  browser: TestBrowser
  /** The sign-in page of somebody who opened the link and goes on. */
  page: Page
}

async function invited(language = 'en'): Promise<Invited> {
  const { owner, I } = realm.tenant
  const organization = { name: 'Harbour', invitation_enabled: true }
  const O = `${I}/organizations/${must(await owner.post(`${I}/organizations`, organization), 201).data.id}`
  const email = address()
  const userId = await realm.user(email)
  const { id } = must(await owner.post(`${O}/invitations`, { email }), 201).data
  const browser = new TestBrowser('https://', { 'accept-language': language })
  const start = await browser.open(linkIn(await mailTo(app, email)))
  return { O, id, email, userId, browser, page: await browser.submit(start, { method: 'sign_in' }) }
}
const finish = ({ browser, page, email }: Invited): Promise<Page> =>
  browser.submit(page, { username: email, password: PASSWORD })

describe('an invitation that can no longer be accepted at its end', () => {
  const over = { heading: 'This invitation is no longer good', lead: /Ask whoever invited you to Harbour for a new/ }

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
      'there is no room',
      async ({ O }: Invited) => {
        await realm.tenant.owner.post(`${O}/members`, { member_id: await realm.user(address()) })
        return realm.tenant.owner.patch(O, { max_members: 1 })
      },
      409,
      {
        heading: 'There is no room at the moment',
        lead: /Harbour has as many members.*open the link of your mail again/,
      },
    ],
    [
      'they are a member already',
      ({ O, userId }: Invited) => realm.tenant.owner.post(`${O}/members`, { member_id: userId }),
      200,
      { heading: 'You are a member already', lead: /You belong to Harbour/ },
    ],
  ])('%s: a page says so and what to do', async (_, meanwhile, status, { heading, lead }) => {
    const at = await invited()
    expect((await meanwhile(at)).status).toBeLessThan(300)
    const page = await finish(at)
    expect({ status: page.status, heading: headingOf(page), lead: leadOf(page) }).toEqual({
      status,
      heading,
      lead: expect.stringMatching(lead),
    })
    expect(page.html).not.toContain('class="detail"')
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
  })

  test('its time ran out; in German', async () => {
    const at = await invited('de')
    await app.gatehouse.tools.prisma.organizationInvitation.update({ where: { id: at.id }, data: { expiresAt: 1 } })
    const page = await finish(at)
    expect({ status: page.status, heading: headingOf(page), lead: leadOf(page) }).toEqual({
      status: 410,
      heading: 'Diese Einladung gilt nicht mehr',
      lead: expect.stringMatching(/um eine neue bitten/),
    })
  })

  test('nobody has an account by it who signed up for it', async () => {
    const { owner, I } = realm.tenant
    const at = await invited()
    const email = address()
    const { id } = must(await owner.post(`${at.O}/invitations`, { email }), 201).data
    const browser = new TestBrowser()
    const form = await browser.submit(await browser.open(linkIn(await mailTo(app, email))), { method: 'sign_up' })
    const asked = await browser.submit(form, { new_password: PASSWORD, method: 'make' })
    const code = codeIn(await mailTo(app, email, 2))
    must(await owner.post(`${at.O}/invitations/${id}/revoke`, {}), 200)
    expect(headingOf(await browser.submit(asked, { code }))).toBe(over.heading)
    expect(must(await owner.get(`${I}/users`), 200).data).not.toContainEqual(
      expect.objectContaining({ username: email }),
    )
    const { issuerId } = realm.tenant
    expect(await app.gatehouse.tools.prisma.user.count({ where: { issuerId, usernameKey: email } })).toBe(0)
  })

  const revoke = (O: string, id: string) => realm.tenant.owner.post(`${O}/invitations/${id}/revoke`, {})

  test.each<[string, (O: string, id: string, answer: () => Promise<Page>) => Promise<Page>]>([
    [
      'was revoked',
      async (O, id, answer) => {
        must(await revoke(O, id), 200)
        return answer()
      },
    ],
    [
      'is being revoked',
      async (_, id, answer) => {
        let page: Promise<Page> | undefined
        await app.gatehouse.tools.prisma.$transaction(async (other) => {
          await other.organizationInvitation.update({ where: { id }, data: { status: 'revoked' } })
          page = answer()
          await sleep(500)
        })
        return page!
      },
    ],
  ])('only invited people may make accounts, more is asked of them, and it %s: nobody has one', async (_, end) => {
    const { owner, I, issuerId } = realm.tenant
    const at = await invited()
    const email = address()
    const { id } = must(await owner.post(`${at.O}/invitations`, { email }), 201).data
    const browser = new TestBrowser()
    const strict = { signup: { mode: 'invite_only' }, security: { mfa_required: true } }
    must(await owner.patch(I, { settings: strict }), 200)
    try {
      const form = await browser.submit(await browser.open(linkIn(await mailTo(app, email))), { method: 'sign_up' })
      const asked = await browser.submit(form, { new_password: PASSWORD, method: 'make' })
      const code = codeIn(await mailTo(app, email, 2))
      const page = await end(at.O, id, () => browser.submit(asked, { code }))
      expect([page.status, headingOf(page)]).toEqual([410, over.heading])
      expect(await app.gatehouse.tools.prisma.user.count({ where: { issuerId, usernameKey: email } })).toBe(0)
    } finally {
      must(await owner.patch(I, { settings: { signup: null, security: null } }), 200)
    }
  })

  test('with room made meanwhile the same link still works', async () => {
    const { owner } = realm.tenant
    const at = await invited()
    must(await owner.post(`${at.O}/members`, { member_id: await realm.user(address()) }), 201)
    must(await owner.patch(at.O, { max_members: 1 }), 200)
    expect((await finish(at)).status).toBe(409)
    must(await owner.patch(at.O, { max_members: 2 }), 200)
    const again = await at.browser.open(at.page.url)
    expect(headingOf(await finish({ ...at, page: again }))).toBe('Welcome')
  })
})

describe('a closed issuer lets nobody in by an invitation either, as at /authorize (decisions D29)', () => {
  const statuses = [
    ['disabled', () => realm.tenant.owner],
    ['suspended', () => app.operator],
  ] as const

  test.each(statuses)('%s: its link, and a journey begun before', async (status, whose) => {
    const { I } = realm.tenant
    const at = await invited()
    const reset = at.browser.copy()
    const asked = await invited()
    const code = await asked.browser.submit(await asked.browser.submit(asked.page, { method: 'reset' }), {
      username: asked.email,
    })
    const typed = { code: codeIn(await mailTo(app, asked.email, 2)) }
    must(await whose().patch(I, { status }), 200)
    const pages = [
      (await realm.begin(client)).page,
      await new TestBrowser().open(linkIn(await mailTo(app, at.email))),
      await reset.open(at.page.url),
      await finish(at),
      await asked.browser.submit(code, typed),
    ]
    must(await whose().patch(I, { status: 'active' }), 200)
    const [known, ...others] = pages.map((page) => ({
      status: page.status,
      heading: headingOf(page),
      lead: leadOf(page),
    }))
    expect(known).toMatchObject({ status: 403 })
    expect(others).toEqual([known, known, known, known])
    // Nothing was used up.
    expect(headingOf(await asked.browser.submit(code, typed))).toBe('Choose a new password')
    expect(headingOf(await finish(at))).toBe('Welcome')
  })
})

describe('a step that this release does not know', () => {
  /** What another release would have left there. */
  async function left(page: Page, step: string): Promise<void> {
    const uid = new URL(page.url).pathname.split('/').at(-1)!
    const text = `UPDATE login_states SET state = jsonb_set(state, '{step}', to_jsonb($1::text)) WHERE uid = $2 RETURNING uid`
    expect(await app.gatehouse.tools.query('leave-a-step', text, [step, uid])).toHaveLength(1)
  }

  test.each(['of_tomorrow', '__proto__', 'constructor', ''])('%j: the sign-in begins again', async (step) => {
    const username = address()
    await realm.user(username)
    const { browser, page } = await realm.begin(client)
    const before = await browser.submit(page, { username, password: 'wrong' })
    await left(before, step)
    const shown = await browser.open(before.url)
    expect({ status: shown.status, heading: headingOf(shown), problem: problemOf(shown) }).toEqual({
      status: 200,
      heading: 'Sign in',
      problem: expect.stringMatching(/out of date/),
    })
    expect(redirectOf(await browser.submit(shown, { username, password: PASSWORD }))['code']).toBeDefined()
  })

  test('an answer to it is not taken for one to the first step, and 20 at once do no harm', async () => {
    const username = address()
    await realm.user(username)
    const { browser, page } = await realm.begin(client)
    const before = await browser.submit(page, { username, password: 'wrong' })
    await left(before, 'of_tomorrow')
    const pages = await Promise.all(
      Array.from({ length: 20 }, () => browser.copy().submit(before, { username, password: PASSWORD })),
    )
    for (const answered of pages)
      expect([answered.status, headingOf(answered), problemOf(answered)]).toEqual([
        200,
        'Sign in',
        expect.stringMatching(/out of date/),
      ])
    expect(redirectOf(await browser.submit(pages[0]!, { username, password: PASSWORD }))['code']).toBeDefined()
  })

  test('of an invitation: the invitation is shown again', async () => {
    const at = await invited()
    await left(at.page, 'of_tomorrow')
    const shown = await at.browser.open(at.page.url)
    expect([shown.status, headingOf(shown)]).toEqual([200, 'Join Harbour'])
    const page = await at.browser.submit(shown, { method: 'sign_in' })
    expect(headingOf(await finish({ ...at, page }))).toBe('Welcome')
  })
})
