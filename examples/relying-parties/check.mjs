/** Signs in to a relying party with Chromium, refreshes tokens, and signs out, as a user does. */
import { setTimeout as wait } from 'node:timers/promises'
import chromium from '@sparticuz/chromium'
import { chromium as playwright } from 'playwright-core'
import { relyingParties } from './definitions.mjs'

const START_TIMEOUT_MS = 120_000
const STEP_TIMEOUT_MS = 20_000
const SIGNED_IN = 'Signed in as anna@example.com'

export async function launchBrowser() {
  return playwright.launch({
    executablePath: await chromium.executablePath(),
    // In containers the check runs as root, and the sandbox of Chromium does not start as root.
    args: ['--no-sandbox', '--disable-gpu'],
    headless: true,
  })
}

/** Waits until a program that is starting listens on its port. */
async function waitUntilListening(running) {
  const deadline = Date.now() + START_TIMEOUT_MS
  while (!(await fetch(running.home, { redirect: 'manual' }).catch(() => undefined))) {
    if (running.hasExited()) throw new Error('The program ended before it served a page.')
    if (Date.now() > deadline) throw new Error(`The program did not listen within ${START_TIMEOUT_MS / 1000} seconds.`)
    await wait(200)
  }
}

/** Clicks a link or button. */
const press = (page, name) =>
  page
    .getByRole('link', { name, exact: true })
    .or(page.getByRole('button', { name, exact: true }))
    .click()

/** Reloads the page until the program has printed a text. */
async function reloadUntil(page, running, text) {
  const deadline = Date.now() + STEP_TIMEOUT_MS
  while (!running.output().includes(text)) {
    if (Date.now() > deadline) throw new Error(`The program did not print "${text}".`)
    await page.waitForTimeout(200)
    await page.reload()
  }
}

async function enterPassword(page) {
  await page.getByLabel('Username or email').fill('anna@example.com')
  await page.getByLabel('Password').fill('a long first password')
  await page.keyboard.press('Enter')
}

/**
 * Signs in, refreshes tokens unless the definition says otherwise, signs out, and checks that the next sign-in asks for
 * the password again.
 * @param running the result of `start`
 * @returns what was checked
 * @throws Error with the step that failed, the text of the page and the output of the program
 */
export async function check(browser, name, running) {
  const { check: texts = {} } = relyingParties[name]
  const { refresh = true, refreshOutput, signInLabel = 'Sign in', signedOut = 'You are not signed in' } = texts
  const context = await browser.newContext()
  const page = await context.newPage()
  page.setDefaultTimeout(STEP_TIMEOUT_MS)
  let step = 'open the page'
  try {
    await waitUntilListening(running)
    await page.goto(running.home)
    step = 'sign in'
    await press(page, signInLabel)
    await enterPassword(page)
    await page.getByText(SIGNED_IN).waitFor()
    if (refresh) {
      step = 'refresh the tokens'
      await (refreshOutput ? reloadUntil(page, running, refreshOutput) : press(page, 'Refresh'))
      await page.getByText(refreshOutput ? SIGNED_IN : 'Tokens refreshed').waitFor()
    }
    step = 'sign out'
    await press(page, 'Sign out')
    await page.getByText(signedOut).waitFor()
    step = 'be asked for the password after signing out'
    await page.goto(running.home)
    await press(page, signInLabel)
    await page.getByLabel('Password').waitFor()
    return refresh ? 'signed in, refreshed, signed out' : 'signed in, signed out'
  } catch (error) {
    const text = await page.textContent('body').catch(() => '')
    const output = running.output().split('\n').slice(-20).join('\n')
    throw new Error(`${name} could not ${step}: ${error.message}\n\n${page.url()}\n${text}\n\n${output}`)
  } finally {
    await context.close()
  }
}
