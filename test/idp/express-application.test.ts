/** A web application with express-openid-connect signs a user in, reads the profile and signs the user out. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Application } from '../setup/express-application.js'
import { freePorts, startApp, type TestApp } from '../setup/start-app.js'
import { headingOf, TestBrowser } from './browser.js'
import { PASSWORD, Realm } from './realm.js'

let app: TestApp
let realm: Realm
let userId: string
let child: ChildProcess
let home: string

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  userId = await realm.createUser('ada@example.com')
  const [port = 0] = await freePorts(1)
  home = `http://127.0.0.1:${port}`
  const callbacks = { redirect_uris: [`${home}/callback`], post_logout_redirect_uris: [`${home}/goodbye`] }
  const client = await realm.createClient(callbacks, { confidential: true })
  child = fork(fileURLToPath(new URL('../setup/express-application.js', import.meta.url)), { execArgv: [] })
  const config: Application['config'] = {
    issuerBaseURL: realm.url,
    baseURL: home,
    clientID: client.id,
    clientSecret: client.secret!,
    secret: 'what the application signs its own cookie with',
    idTokenSigningAlg: 'ES256',
    authorizationParams: { response_type: 'code', scope: 'openid profile email' },
    authRequired: false,
    idpLogout: true,
    routes: { postLogoutRedirect: '/goodbye' },
  }
  child.send({ port, config } satisfies Application)
  await once(child, 'message')
})
afterAll(async () => {
  child?.kill()
  await app.close()
})

test('express-openid-connect: signs in on the hosted page, reads the profile, and signs out of both', async () => {
  const browser = new TestBrowser()
  const signIn = await browser.open(`${home}/profile`)
  expect(signIn.url).toContain(`${realm.url}/interaction/`)
  const profile = await browser.submit(signIn, { username: 'ada@example.com', password: PASSWORD })
  expect(profile.url).toBe(`${home}/profile`)
  expect(JSON.parse(profile.html)).toEqual({
    claims: expect.objectContaining({ sub: userId, amr: ['pwd'], sid: expect.stringMatching(/^ses_/) }),
    profile: { sub: userId, email: 'ada@example.com', email_verified: false },
  })

  const goodbye = await browser.open(`${home}/logout`)
  expect([goodbye.url, JSON.parse(goodbye.html)]).toEqual([`${home}/goodbye`, { signedIn: false }])
  // The browser session at the IdP has also ended, so the next visit requires a sign-in.
  expect(headingOf(await browser.open(`${home}/profile`))).toBe(headingOf(signIn))
})
