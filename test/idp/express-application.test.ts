/** A web application with somebody else's middleware signs a person in, reads the profile and signs out (issue 4). */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Application } from '../setup/express-application.js'
import { freePorts, startApp, type TestApp } from '../setup/start-app.js'
import { headingOf, TestBrowser } from './browser.js'
import { PASSWORD, Realm } from './setup.js'

let app: TestApp
let realm: Realm
let userId: string
let child: ChildProcess
let home: string

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.make(app)
  userId = await realm.user('ada@example.com')
  const [port = 0] = await freePorts(1)
  home = `http://127.0.0.1:${port}`
  const callbacks = { redirect_uris: [`${home}/callback`], post_logout_redirect_uris: [`${home}/goodbye`] }
  const client = await realm.client(callbacks, { confidential: true })
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

test('express-openid-connect: signs in on the hosted page, reads the profile, signs out here and there', async () => {
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
  // Not only the application has forgotten: the next visit has to sign in again.
  expect(headingOf(await browser.open(`${home}/profile`))).toBe(headingOf(signIn))
})
