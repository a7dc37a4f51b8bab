/**
 * A credential change ends all sign-ins that are older than the change, exact to the millisecond, but not the sign-in in
 * which the user made the change.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { expectStatus } from '../../setup/actors.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { headingOf } from '../browser.js'
import { PASSWORD, Realm, redirectParametersOf, type TestClient } from '../realm.js'

const NEXT = 'another long enough one'

let app: TestApp
let realm: Realm
let web: TestClient
let spa: TestClient
let count = 0
beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  web = await realm.createClient({}, { confidential: true })
  spa = await realm.createClient()
})
afterAll(() => app.close())

const query = <Row extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
  app.gatehouse.database.query<Row>('', text, values)

async function person(): Promise<{ id: string; username: string }> {
  const username = `changes-${++count}@example.com`
  return { id: await realm.createUser(username), username }
}

/** The columns whose value ends earlier sign-ins of a user, each with a function that sets it to a time in Unix ms. */
const changes: [string, (id: string, at: number) => Promise<unknown>][] = [
  [
    'verifiers.secret_set_at',
    (id, at) => query('UPDATE verifiers SET secret_set_at = $2 WHERE user_id = $1', [id, at]),
  ],
  ['users.proofs_valid_after', (id, at) => query('UPDATE users SET proofs_valid_after = $2 WHERE id = $1', [id, at])],
]

/** Returns the times of the sign-in in the browser session of a user: `since` in Unix ms, `loginTs` in Unix seconds. */
async function storedSignIn(id: string): Promise<{ since: number; loginTs: number }> {
  const text = `SELECT (payload->>'since')::float8 AS since, (payload->>'loginTs')::float8 AS "loginTs"
    FROM idp_artifacts WHERE kind = 'Session' AND payload->>'accountId' = $1`
  const rows = await query<{ since: number; loginTs: number }>(text, [id])
  expect(rows).toHaveLength(1)
  return rows[0]!
}

describe.each(changes)('%s', (_, change) => {
  test('a change in the millisecond of the sign-in or later, also in its second, ends it; an earlier change does not', async () => {
    const { id, username } = await person()
    const { browser } = await realm.signIn(web, username)
    const { since, loginTs } = await storedSignIn(id)
    expect(Math.floor(since / 1000)).toBeLessThanOrEqual(loginTs)
    const silent = async () => redirectParametersOf((await realm.openSignInPage(spa, { prompt: 'none' }, browser)).page)
    await change(id, since - 1)
    expect((await silent())['code']).toBeDefined()
    await change(id, since)
    expect((await silent())['error']).toBe('login_required')
    // A new sign-in works, even in the same second as the change.
    expect((await realm.signIn(spa, username, {}, browser)).redirect['code']).toBeDefined()
    expect((await silent())['code']).toBeDefined()
  })

  test('a change in the millisecond of the first step also ends a sign-in in progress; an earlier change does not', async () => {
    for (const [offset, heading] of [
      [-1, ''],
      [0, 'Sign in'],
    ] as const) {
      const { id, username } = await person()
      await query('UPDATE verifiers SET must_change = true WHERE user_id = $1', [id])
      const { page, browser } = await realm.openSignInPage(web)
      const choosing = await browser.submit(page, { username, password: PASSWORD })
      expect(headingOf(choosing)).toBe('Choose a new password')
      const text = `SELECT (state->>'since')::float8 AS since FROM login_states WHERE state->'user'->>'id' = $1`
      const [standing] = await query<{ since: number }>(text, [id])
      await change(id, standing!.since + offset)
      expect(headingOf(await browser.submit(choosing, { new_password: NEXT }))).toBe(heading)
    }
  })

  test('a browser session from an older version has only `loginTs`, so that only a change in a later second ends it', async () => {
    const { id, username } = await person()
    const { browser } = await realm.signIn(web, username)
    const { loginTs } = await storedSignIn(id)
    const forget = `UPDATE idp_artifacts SET payload = payload - 'since' WHERE kind = 'Session' AND payload->>'accountId' = $1`
    await query(forget, [id])
    const silent = async () => redirectParametersOf((await realm.openSignInPage(spa, { prompt: 'none' }, browser)).page)
    await change(id, (loginTs + 1) * 1000 - 1)
    expect((await silent())['code']).toBeDefined()
    await change(id, (loginTs + 1) * 1000)
    expect((await silent())['error']).toBe('login_required')
  })
})

test('the browser that changes the password stays signed in; other browsers are signed out', async () => {
  const { id, username } = await person()
  const before = await realm.signIn(web, username)
  const [verifier] = expectStatus(await realm.tenant.owner.get(`${realm.tenant.I}/users/${id}/verifiers`), 200).data
  const path = `${realm.tenant.I}/users/${id}/verifiers/${verifier.id}`
  expectStatus(await realm.tenant.owner.patch(path, { must_change: true }), 200)
  const { page, browser } = await realm.openSignInPage(web)
  const choosing = await browser.submit(page, { username, password: PASSWORD })
  expect(redirectParametersOf(await browser.submit(choosing, { new_password: NEXT }))['code']).toBeDefined()
  const [changed] = await query<{ at: number }>(
    'SELECT secret_set_at::float8 AS at FROM verifiers WHERE user_id = $1',
    [id],
  )
  expect((await storedSignIn(id)).since).toBeGreaterThan(changed!.at)
  for (const [who, outcome] of [
    [browser, 'code'],
    [before.browser, 'error'],
  ] as const) {
    expect(redirectParametersOf((await realm.openSignInPage(spa, { prompt: 'none' }, who)).page)[outcome]).toBeDefined()
  }
})
