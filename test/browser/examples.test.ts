/** The examples that have web pages, in Chromium. Each example is started with its documented command. */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { createExampleRunner, type ExampleRunner } from '../setup/examples.js'
import { freePorts, startApp, type TestApp } from '../setup/start-app.js'
import { launchBrowser, openMonitoredPage } from './monitored-page.js'

let app: TestApp
let runner: ExampleRunner
let browser: Browser

beforeAll(async () => {
  app = await startApp()
  runner = createExampleRunner(app)
  browser = await launchBrowser()
}, 60_000)
afterAll(async () => {
  await browser?.close()
  await app?.close()
  runner?.remove()
})

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('Username or email').fill('anna@example.com')
  await page.getByLabel('Password').fill('a long first password')
  await page.keyboard.press('Enter')
}

/** Runs an example, opens its page, runs `check`, and expects only requests to the example and to Gatehouse. */
async function visit(name: string, check: (page: Page, home: string) => Promise<void>): Promise<void> {
  const [port] = await freePorts(1)
  const example = runner.run(name, port)
  try {
    const [, home = ''] = await example.waitForOutput(/Open (http\S+)/)
    const { page, problems } = await openMonitoredPage(browser, new URL(app.gatehouse.config.idpUrl).origin)
    await page.goto(home)
    await check(page, home)
    expect(problems.filter((problem) => !/^requested (data:|http:\/\/localhost:)/.test(problem))).toEqual([])
    await page.context().close()
  } finally {
    await example.stop()
  }
}

test('single-page-app: signs in, stays signed in after a reload, and signs out of the application and the issuer', () =>
  visit('single-page-app', async (page, home) => {
    await page.getByRole('heading', { name: 'You are not signed in' }).waitFor()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await signIn(page)
    await page.getByRole('heading', { name: 'Hello, Anna Example' }).waitFor()
    expect(page.url()).toBe(`${home}/`)
    expect(JSON.parse((await page.locator('#claims').textContent())!)).toMatchObject({ email: 'anna@example.com' })
    await page.reload()
    await page.getByRole('heading', { name: 'Hello, Anna Example' }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'You are not signed in' }).waitFor()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByLabel('Password').waitFor()
  }))

test('express: the protected page shows the profile and requires a new sign-in after signing out', () =>
  visit('express', async (page, home) => {
    await page.getByRole('link', { name: 'Sign in' }).click()
    await signIn(page)
    await page.getByRole('heading', { name: 'You are signed in' }).waitFor()
    await page.getByRole('link', { name: 'Profile' }).click()
    const { claims, profile } = JSON.parse((await page.locator('pre').textContent())!)
    expect(profile).toMatchObject({ sub: claims.sub, name: 'Anna Example', email: 'anna@example.com' })
    await page.goto(`${home}/logout`)
    await page.getByRole('heading', { name: 'You are not signed in' }).waitFor()
    await page.goto(`${home}/profile`)
    await page.getByLabel('Password').waitFor()
  }))
