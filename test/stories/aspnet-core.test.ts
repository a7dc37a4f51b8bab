/**
 * What the OpenID Connect handler of ASP.NET Core sends with its defaults, in Chromium (docs/connect/aspnet-core.md). The
 * application and the issuer are different sites, as in production.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser } from 'playwright-core'
import { launchBrowser } from '../browser/monitored-page.js'
import { PASSWORD, Realm } from '../idp/realm.js'
import { type DotnetVersion, startAspnetCoreApplication } from '../setup/aspnet-core.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let realm: Realm
let browser: Browser

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  await realm.createUser('ada@example.com')
  browser = await launchBrowser()
}, 60_000)
afterAll(async () => {
  await browser?.close()
  await app?.close()
})

test.each<{ version: DotnetVersion; alg: string; sent: string }>([
  {
    version: 8,
    alg: 'ES256',
    sent: 'client_id redirect_uri response_type scope code_challenge code_challenge_method response_mode nonce state',
  },
  { version: 10, alg: 'ES256', sent: 'client_id request_uri' },
  { version: 10, alg: 'RS256', sent: 'client_id request_uri' },
])('.NET $version with $alg tokens: the form is posted to /signin-oidc, then sign-out returns', async (row) => {
  const application = await startAspnetCoreApplication(row.version)
  const client = await realm.createClient(
    {
      application_type: 'web',
      redirect_uris: [`${application.home}/signin-oidc`],
      post_logout_redirect_uris: [`${application.home}/signout-callback-oidc`],
      response_signature_alg: row.alg,
    },
    { confidential: true },
  )
  application.configure({ issuer: realm.url, clientId: client.id, clientSecret: client.secret! })
  expect(new URL(realm.url).hostname).not.toBe(new URL(application.home).hostname)
  const context = await browser.newContext()
  const page = await context.newPage()
  try {
    await page.goto(application.home)
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.getByLabel('Username or email').fill('ada@example.com')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'ada@example.com' }).waitFor()
    expect(page.url()).toBe(`${application.home}/`)
    expect(application.log).toEqual([`authorize ${row.sent}`, 'POST /signin-oidc application/x-www-form-urlencoded'])

    await page.getByRole('link', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'You are not signed in' }).waitFor()
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.getByLabel('Password').waitFor()
  } finally {
    await context.close()
    await application.close()
  }
})
