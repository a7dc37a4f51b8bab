/**
 * Measures how long the console takes to become usable in Chromium with an empty cache: the time from the navigation
 * until the list is drawn, and until the button of the page reacts. The time of /healthz on the same server shows how
 * busy the machine is. Option: the number of visits per page (10).
 */
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { ADMIN, signInAsAdministrator } from '../test/browser/console-fixture.js'
import { launchBrowser } from '../test/browser/monitored-page.js'
import { createFolder, removeFolder, type Server, startServer } from './server.js'

const TIMES = 10
const USERS = 60

interface PageVisit {
  page: string
  path: string
  /** The label of the button that opens a dialog. */
  button: string
}

/** @returns the median and the maximum of each page in milliseconds */
export async function bench([times]: string[]): Promise<Record<string, unknown>[]> {
  const folder = createFolder()
  const server = await startServer(folder, {
    BOOTSTRAP_ADMIN_EMAIL: ADMIN.email,
    BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
  })
  const browser = await launchBrowser()
  try {
    return await measure(server, browser, Number(times ?? TIMES))
  } finally {
    await browser.close()
    await server.stop()
    removeFolder(folder)
  }
}

async function measure(server: Server, browser: Browser, times: number) {
  const { accountId, issuerId } = await createData(server)
  const at = `/accounts/${accountId}`
  const inIssuer = `${at}/issuers/${issuerId}`
  const visits: PageVisit[] = [
    { page: 'issuers', path: `${at}/issuers`, button: 'Create issuer' },
    { page: 'users', path: `${inIssuer}/users`, button: 'Create user' },
    { page: 'clients', path: `${inIssuer}/clients`, button: 'Create client' },
    { page: 'organizations', path: `${inIssuer}/organizations`, button: 'Create organization' },
  ]
  const first = await browser.newContext()
  await signInAsAdministrator(await first.newPage(), `${server.baseUrl}/console${at}`)
  await first.pages()[0]!.getByRole('heading', { level: 1 }).first().waitFor()
  // The browser context contains only the session cookie, so each visit starts with an empty cache.
  const storageState = await first.storageState()
  await first.close()
  const newSignedInContext = (): Promise<BrowserContext> => browser.newContext({ storageState })

  const listTimes = visits.map((): number[] => [])
  const dialogTimes = visits.map((): number[] => [])
  const threadTimes = visits.map((): number[] => [])
  const baselineTimes: number[] = []
  for (let round = -1; round < times; round++) {
    const context = await newSignedInContext()
    const duration = await timed(async () => (await context.newPage()).goto(`${server.baseUrl}/healthz`))
    await context.close()
    if (round >= 0) baselineTimes.push(duration)
    for (const [n, visit] of visits.entries()) {
      const figures = await measurePage(
        await newSignedInContext(),
        `${server.baseUrl}/console${visit.path}`,
        visit.button,
      )
      if (round < 0) continue
      listTimes[n]!.push(figures.drawn)
      dialogTimes[n]!.push(figures.answered)
      threadTimes[n]!.push(figures.worked)
    }
  }
  const row = (page: string, what: string, all: number[]) => {
    const sorted = all.sort((a, b) => a - b)
    const percentileOf = (share: number) => Math.round(sorted[Math.floor((sorted.length - 1) * share)]!)
    return { page, what, 'p50 ms': percentileOf(0.5), 'worst ms': percentileOf(1) }
  }
  return [
    row('a bare page (/healthz)', 'loaded', baselineTimes),
    ...visits.flatMap(({ page }, n) => [
      row(page, 'list drawn', listTimes[n]!),
      row(page, 'button answered', dialogTimes[n]!),
      row(page, 'its thread at work', threadTimes[n]!),
    ]),
  ]
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

/** Clicks the button as soon as the list is drawn. Both measured times begin with the navigation. */
async function measurePage(context: BrowserContext, url: string, button: string) {
  const page: Page = await context.newPage()
  // CPU time of the page's main thread, which does not depend on the load of the machine.
  const session = await context.newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const began = performance.now()
  await page.goto(url, { waitUntil: 'commit' })
  await page.locator('tbody tr').first().waitFor()
  const listTime = performance.now() - began
  await page.getByRole('button', { name: button }).first().click()
  await page.getByRole('dialog', { name: button }).waitFor()
  const dialogTime = performance.now() - began
  const { metrics } = await session.send('Performance.getMetrics')
  const threadTime = 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0)
  await context.close()
  return { drawn: listTime, answered: dialogTime, worked: threadTime }
}

/** Creates an account with an issuer, users, clients and organizations. */
async function createData({ baseUrl, authorization }: Server): Promise<{ accountId: string; issuerId: string }> {
  const post = async (path: string, body: object) => {
    const headers = { authorization, 'content-type': 'application/json' }
    const answer = await fetch(`${baseUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as { data: Record<string, { account: { id: string } }> & { id: string } }
  }
  const query = 'mutation { createAccount(input: {name: "Bench"}) { account { id } } }'
  const accountId = (await post('/graphql', { query })).data['createAccount']!.account.id
  const A = `/v1/accounts/${accountId}`
  const issuerId = (await post(`${A}/issuers`, { name: 'Bench' })).data.id
  const I = `${A}/issuers/${issuerId}`
  for (let n = 0; n < USERS; n++)
    await post(`${I}/users`, { username_type: 'unique', username: `person-${n}`, profile: { name: `Person ${n}` } })
  for (let n = 0; n < 20; n++) {
    await post(`${I}/clients`, { name: `Client ${n}`, type: 'internal', confidential: false, settings: {} })
    await post(`${I}/organizations`, { name: `Organization ${n}` })
  }
  return { accountId, issuerId }
}
