/** The page of an issuer and the page of an unknown address, in Chromium (docs/contract.md#pages-for-browsers). */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser } from 'playwright-core'
import { Realm } from '../idp/realm.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { accessibilityViolations } from './accessibility.js'
import { saveScreenshots } from './console-fixture.js'
import { launchBrowser, openMonitoredPage } from './monitored-page.js'

let app: TestApp
let realm: Realm
let browser: Browser

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app, 'Northwind')
  browser = await launchBrowser()
}, 60_000)
afterAll(async () => {
  await browser?.close()
  await app?.close()
})

test.each([
  { colorScheme: 'light' as const, viewport: { width: 1280, height: 800 } },
  { colorScheme: 'dark' as const, viewport: { width: 360, height: 640 } },
])('a browser gets a readable page: %j', async (options) => {
  const { page, problems } = await openMonitoredPage(browser, new URL(realm.url).origin, options)
  await page.goto(realm.url)
  await page.getByRole('heading', { name: 'Sign-in service' }).waitFor()
  expect(await accessibilityViolations(page)).toEqual([])
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  expect(problems).toEqual([])
  await saveScreenshots(page, 'issuer-page')

  await page.getByRole('link', { name: '/.well-known/openid-configuration' }).click()
  await page.waitForURL('**/openid-configuration')
  expect(await page.locator('body').textContent()).toContain(`"issuer":"${realm.url}"`)

  // Chromium reports a page with status 404 as an error in the console.
  problems.length = 0
  const response = await page.goto(`${realm.url}/autorize`)
  expect(response?.status()).toBe(404)
  await page.getByRole('heading', { name: 'There is no page at this address' }).waitFor()
  expect(await accessibilityViolations(page)).toEqual([])
  expect(problems.filter((problem) => !problem.includes('404'))).toEqual([])
  await saveScreenshots(page, 'unknown-address')
  await page.context().close()
})
