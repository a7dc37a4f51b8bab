/** Runs a plan of the suite, module after module. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import type { IssuerUnderTest } from './issuer-under-test.js'
import type { Plan } from './plans.js'
import type { PlanModule, SuiteApi } from './suite.js'
import { type Picture, type SignInAction, type Visit, Visitor } from './visitor.js'

/** The result of a module. */
export interface ModuleResult {
  module: string
  /** PASSED, REVIEW, WARNING, SKIPPED or FAILED of the suite; TIMEOUT if the module did not end. */
  result: string
  /** The failures and warnings in the log of the suite, and errors of the runner. */
  messages: string[]
  /** The text of the page of which the suite has a picture. */
  pageText?: string
  seconds: number
}

/** Milliseconds after which the runner cancels a module. The longest waits of the suite's own take 60 seconds. */
const MODULE_TIMEOUT = 150_000

/** Milliseconds between two questions to the suite about the state of a module. */
const POLL_INTERVAL = 200

/** What the user does on the sign-in page at each visit, for modules in which the user does not sign in. */
const signInActions: Readonly<Record<string, readonly SignInAction[]>> = {
  'fapi2-security-profile-final-user-rejects-authentication': ['cancel', 'cancel'],
  'fapi2-security-profile-final-par-ensure-reused-request-uri-prior-to-auth-completion-succeeds': ['stop'],
}

/** Modules that expect a picture of the sign-in page, and that the user signs in. Others expect the last page. */
const signInPictureModules = ['oidcc-prompt-login', 'oidcc-max-age-1']

export interface PlanEnvironment {
  suite: SuiteApi
  suiteUrl: string
  browser: Browser
  /** The folder for the logs of the modules. */
  folder: string
}

/**
 * Runs the modules of a plan.
 * @param only the names of the modules to run; all if empty
 * @param report is called after each module
 */
export async function runPlan(
  plan: Plan,
  { signIn, configuration }: IssuerUnderTest,
  { suite, suiteUrl, browser, folder }: PlanEnvironment,
  only: readonly string[],
  report: (result: ModuleResult) => void,
): Promise<ModuleResult[]> {
  const logs = join(folder, plan.id)
  mkdirSync(logs, { recursive: true })
  const { id, modules } = await suite.createPlan(plan.name, plan.variant, configuration)
  const results: ModuleResult[] = []
  for (const module of modules) {
    if (only.length > 0 && !only.includes(module.testModule)) continue
    const started = performance.now()
    const visitor = await Visitor.open(browser, suiteUrl, signIn)
    const { test, ...outcome } = await runModule(suite, id, module, visitor)
    await visitor.close()
    const log = test === undefined ? [] : await suite.log(test)
    writeFileSync(join(logs, `${module.testModule}.json`), JSON.stringify(log, undefined, 2))
    const found = log.filter(({ result }) => result === 'FAILURE' || result === 'WARNING')
    const result = {
      module: module.testModule,
      ...outcome,
      messages: [...found.map(({ src, msg }) => `${src}: ${msg}`), ...outcome.messages],
      seconds: (performance.now() - started) / 1000,
    }
    results.push(result)
    report(result)
  }
  return results
}

/** Starts a module, opens the URLs that it asks for, uploads the pictures that it expects, and waits for its end. */
async function runModule(suite: SuiteApi, plan: string, module: PlanModule, visitor: Visitor) {
  const messages: string[] = []
  const end = performance.now() + MODULE_TIMEOUT
  let visit: Visit | undefined
  let visits = 0
  let pageText: string | undefined
  // The suite starts the module itself. Starting it again would run it twice.
  const test = await suite.startModule(plan, module).catch((error: Error) => void messages.push(error.message))
  if (test === undefined) return { test, result: 'FAILED', messages }
  for (;;) {
    const { status, result = 'FAILED' } = await suite.state(test)
    const timedOut = performance.now() > end
    if (status === 'FINISHED' || status === 'INTERRUPTED' || timedOut) {
      if (timedOut) await suite.cancel(test)
      return { test, result: timedOut ? 'TIMEOUT' : result, messages, ...(pageText !== undefined && { pageText }) }
    }
    const [next] = await suite.urlsToVisit(test)
    if (next) {
      const action = signInActions[module.testModule]?.[visits++] ?? 'sign_in'
      await suite.markVisited(test, next.url)
      visit = await visitor.visit(next, action).catch((error: Error) => void messages.push(error.message))
    } else if (status === 'WAITING' && visit) {
      const page = signInPictureModules.includes(module.testModule) ? visit.firstPage : visit.lastPage
      if (page && (await uploadPicture(suite, test, page, visit.startedAt))) pageText = page.text
    }
    await sleep(POLL_INTERVAL)
  }
}

/**
 * Uploads a picture if the suite expected one before the visit. A picture that it expects since then is of the next
 * visit, whose URL the suite has not published yet. Returns whether the suite expected one.
 */
async function uploadPicture(suite: SuiteApi, test: string, page: Picture, visitedAt: number): Promise<boolean> {
  const expected = (await suite.missingPictures(test)).filter(({ time }) => time <= visitedAt)
  for (const { upload } of expected) await suite.uploadPicture(test, upload, page.png)
  return expected.length > 0
}
