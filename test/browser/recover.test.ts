/** An administrator who has lost the authenticator app regains access with a recovery link, in Chromium. */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser } from 'playwright-core'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { recoverAdministrator } from '../../src/setup/recover-administrator.js'
import { PASSWORD, Realm } from '../idp/realm.js'
import { expectStatus } from '../setup/actors.js'
import { createBackupCodes, enrollTotp } from '../setup/factors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { totpCode } from '../setup/totp.js'
import { launchBrowser, openMonitoredPage } from './monitored-page.js'

let app: TestApp
let browser: Browser

beforeAll(async () => {
  app = await startApp({ env: { BOOTSTRAP_ADMIN_EMAIL: 'ada@example.com', BOOTSTRAP_ADMIN_PASSWORD: PASSWORD } })
  browser = await launchBrowser()
}, 60_000)
afterAll(async () => {
  await browser?.close()
  await app?.close()
})

test('with the recovery link, an administrator sets a new password and authenticator app, and is signed in to the console', async () => {
  const row = await app.gatehouse.database.prisma.deployment.findUniqueOrThrow({ where: { name: 'console' } })
  const { account_id: accountId, issuer_id: issuerId } = row.value as { account_id: string; issuer_id: string }
  const A = `/v1/accounts/${accountId}`
  const I = `${A}/issuers/${issuerId}`
  const realm = new Realm(app, { accountId, issuerId, A, I, owner: app.operator })
  const { owner_user_id: id } = expectStatus(await app.operator.get(A), 200).data
  expectStatus(await app.operator.patch(I, { settings: { security: { mfa_required: true } } }), 200)
  const ada = { id, username: 'ada@example.com', path: `${I}/users/${id}/verifiers` }
  await enrollTotp(realm, ada)
  await createBackupCodes(realm, ada)

  const { url } = await recoverAdministrator(systemContext(app.gatehouse), { email: ada.username, reactivate: false })
  const { page, problems } = await openMonitoredPage(browser, new URL(realm.url).origin, {
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
  // The console and the issuer have different origins, so requests to another origin are expected. Other problems are not.
  expect(problems.filter((problem) => !problem.startsWith('requested '))).toEqual([])
}, 60_000)
