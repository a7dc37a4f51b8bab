/** The examples that have pages, started by their one command, in a real Chromium. */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { exampleShelf, type Shelf } from '../setup/examples.js'
import { freePorts, startApp, type TestApp } from '../setup/start-app.js'
import { startStrictBrowser, watchedPage } from './watched-page.js'

let app: TestApp
let shelf: Shelf
let browser: Browser

beforeAll(async () => {
  app = await startApp()
  shelf = exampleShelf(app)
  browser = await startStrictBrowser()
}, 60_000)
afterAll(async () => {
  await browser?.close()
  await app?.close()
  shelf?.remove()
})

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('Username or email').fill('anna@example.com')
  await page.getByLabel('Password').fill('a long first password')
  await page.keyboard.press('Enter')
}

/** Runs an example, opens its page, and looks that nothing but the two of them was asked. */
async function visit(name: string, tale: (page: Page, home: string) => Promise<void>): Promise<void> {
  const [port] = await freePorts(1)
  const example = shelf.run(name, port)
  try {
    const [, home = ''] = await example.printed(/Open (http\S+)/)
    const { page, faults } = await watchedPage(browser, new URL(app.gatehouse.config.idpUrl).origin)
    await page.goto(home)
    await tale(page, home)
    expect(faults.filter((fault) => !/^asked (data:|http:\/\/localhost:)/.test(fault))).toEqual([])
    await page.context().close()
  } finally {
    await example.stop()
  }
}

test('single-page-app: signs in, survives a reload, signs out here and there', () =>
  visit('single-page-app', async (page, home) => {
    await page.getByRole('heading', { name: 'Nobody is signed in' }).waitFor()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await signIn(page)
    await page.getByRole('heading', { name: 'Hello, Anna Example' }).waitFor()
    expect(page.url()).toBe(`${home}/`)
    expect(JSON.parse((await page.locator('#claims').textContent())!)).toMatchObject({ email: 'anna@example.com' })
    await page.reload()
    await page.getByRole('heading', { name: 'Hello, Anna Example' }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Nobody is signed in' }).waitFor()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByLabel('Password').waitFor()
  }))

test('express: the page behind the sign-in shows the profile, and asks again after signing out', () =>
  visit('express', async (page, home) => {
    await page.getByRole('link', { name: 'Sign in' }).click()
    await signIn(page)
    await page.getByRole('heading', { name: 'You are signed in' }).waitFor()
    await page.getByRole('link', { name: 'Profile' }).click()
    const { claims, profile } = JSON.parse((await page.locator('pre').textContent())!)
    expect(profile).toMatchObject({ sub: claims.sub, name: 'Anna Example', email: 'anna@example.com' })
    await page.goto(`${home}/logout`)
    await page.getByRole('heading', { name: 'Nobody is signed in' }).waitFor()
    await page.goto(`${home}/profile`)
    await page.getByLabel('Password').waitFor()
  }))
