/** An administrator who lost an authenticator app comes back by a recovery link, in a real Chromium (decision 0067). */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser } from 'playwright-core'
import { systemContext } from '../../src/platform/jobs.js'
import { recoverAdministrator } from '../../src/recover.js'
import { PASSWORD, Realm } from '../idp/setup.js'
import { must } from '../setup/actors.js'
import { giveBackupCodes, giveTotp } from '../setup/factors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { totpCode } from '../setup/totp.js'
import { startStrictBrowser, watchedPage } from './watched-page.js'

let app: TestApp
let browser: Browser

beforeAll(async () => {
  app = await startApp({ env: { BOOTSTRAP_ADMIN_EMAIL: 'ada@example.com', BOOTSTRAP_ADMIN_PASSWORD: PASSWORD } })
  browser = await startStrictBrowser()
}, 60_000)
afterAll(async () => {
  await browser?.close()
  await app?.close()
})

test('from the link to the console, with a new password and a new app', async () => {
  const row = await app.gatehouse.tools.prisma.deployment.findUniqueOrThrow({ where: { name: 'console' } })
  const { account_id: accountId, issuer_id: issuerId } = row.value as { account_id: string; issuer_id: string }
  const A = `/v1/accounts/${accountId}`
  const I = `${A}/issuers/${issuerId}`
  const realm = new Realm(app, { accountId, issuerId, A, I, owner: app.operator })
  const { owner_user_id: id } = must(await app.operator.get(A), 200).data
  must(await app.operator.patch(I, { settings: { security: { mfa_required: true } } }), 200)
  const ada = { id, username: 'ada@example.com', path: `${I}/users/${id}/verifiers` }
  await giveTotp(realm, ada)
  await giveBackupCodes(realm, ada)

  const { url } = await recoverAdministrator(systemContext(app.gatehouse), { email: ada.username, reactivate: false })
  const { page, faults } = await watchedPage(browser, new URL(realm.url).origin, {
    viewport: { width: 390, height: 800 },
  })
  await page.goto(url)
  await page.getByRole('heading', { name: 'Recover your access' }).waitFor()
  for (const name of ['Authenticator app', 'Backup codes'])
    expect(await page.getByRole('checkbox', { name }).isChecked()).toBe(true)
  await page.getByRole('button', { name: 'Recover access' }).click()
  await page.getByLabel('New password').fill('another correct horse battery staple')
  await page.getByRole('button', { name: 'Save and sign in' }).click()
  await page.getByRole('heading', { name: 'Set up an authenticator app' }).waitFor()
  const secret = ((await page.locator('.secret').textContent()) ?? '').replaceAll(' ', '')
  await page.locator('#code').fill(totpCode(secret, app.clock.now()))
  await page.locator('#code').press('Enter')
  await page.getByRole('button', { name: "I've saved them" }).click()
  await page.waitForURL(`${app.baseUrl}/console`)
  // The way leads to the console and back; what counts is that no page broke its policy.
  expect(faults.filter((fault) => !fault.startsWith('asked '))).toEqual([])
}, 60_000)
