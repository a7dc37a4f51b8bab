/**
 * How long the console takes to be of use, in a real Chromium with an empty cache: from the navigation until the list is
 * drawn, and until its button has answered. A bare page of the same server says how busy the machine is.
 * Option: how many times each page is opened (10).
 */
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { ADMIN, signIn } from '../test/browser/console-world.js'
import { startStrictBrowser } from '../test/browser/watched-page.js'
import { makeFolder, removeFolder, type Server, startServer } from './server.js'

const TIMES = 10
const PEOPLE = 60

interface Visit {
  page: string
  path: string
  /** Opens a dialogue. */
  button: string
}

/** @returns the median and the worst of each page, in milliseconds */
export async function bench([times]: string[]): Promise<Record<string, unknown>[]> {
  const folder = makeFolder()
  const server = await startServer(folder, {
    BOOTSTRAP_ADMIN_EMAIL: ADMIN.email,
    BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
  })
  const browser = await startStrictBrowser()
  try {
    return await measure(server, browser, Number(times ?? TIMES))
  } finally {
    await browser.close()
    await server.stop()
    removeFolder(folder)
  }
}

async function measure(server: Server, browser: Browser, times: number) {
  const { accountId, issuerId } = await fill(server)
  const at = `/accounts/${accountId}`
  const inIssuer = `${at}/issuers/${issuerId}`
  const visits: Visit[] = [
    { page: 'issuers', path: `${at}/issuers`, button: 'New issuer' },
    { page: 'users', path: `${inIssuer}/users`, button: 'New user' },
    { page: 'clients', path: `${inIssuer}/clients`, button: 'New client' },
    { page: 'organizations', path: `${inIssuer}/organizations`, button: 'New organization' },
  ]
  const first = await browser.newContext()
  await signIn(await first.newPage(), `${server.baseUrl}/console${at}`)
  await first.pages()[0]!.getByRole('heading', { level: 1 }).first().waitFor()
  // Signed in, and nothing else: each visit begins with an empty cache.
  const storageState = await first.storageState()
  await first.close()
  const fresh = (): Promise<BrowserContext> => browser.newContext({ storageState })

  const drawn = visits.map((): number[] => [])
  const answered = visits.map((): number[] => [])
  const worked = visits.map((): number[] => [])
  const bare: number[] = []
  for (let round = -1; round < times; round++) {
    const context = await fresh()
    const took = await timed(async () => (await context.newPage()).goto(`${server.baseUrl}/healthz`))
    await context.close()
    if (round >= 0) bare.push(took)
    for (const [n, visit] of visits.entries()) {
      const figures = await open(await fresh(), `${server.baseUrl}/console${visit.path}`, visit.button)
      if (round < 0) continue
      drawn[n]!.push(figures.drawn)
      answered[n]!.push(figures.answered)
      worked[n]!.push(figures.worked)
    }
  }
  const row = (page: string, what: string, all: number[]) => {
    const sorted = all.sort((a, b) => a - b)
    const figure = (share: number) => Math.round(sorted[Math.floor((sorted.length - 1) * share)]!)
    return { page, what, 'p50 ms': figure(0.5), 'worst ms': figure(1) }
  }
  return [
    row('a bare page (/healthz)', 'loaded', bare),
    ...visits.flatMap(({ page }, n) => [
      row(page, 'list drawn', drawn[n]!),
      row(page, 'button answered', answered[n]!),
      row(page, 'its thread at work', worked[n]!),
    ]),
  ]
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

/** The dialogue is asked for as soon as its button is there; both times begin with the navigation. */
async function open(context: BrowserContext, url: string, button: string) {
  const page: Page = await context.newPage()
  // Time of its own thread, which does not grow with what else the machine does.
  const session = await context.newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const began = performance.now()
  await page.goto(url, { waitUntil: 'commit' })
  await page.locator('tbody tr').first().waitFor()
  const drawn = performance.now() - began
  await page.getByRole('button', { name: button }).first().click()
  await page.getByRole('dialog', { name: button }).waitFor()
  const answered = performance.now() - began
  const { metrics } = await session.send('Performance.getMetrics')
  const worked = 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0)
  await context.close()
  return { drawn, answered, worked }
}

/** An account with an issuer, people, clients and organizations in it. */
async function fill({ baseUrl, authorization }: Server): Promise<{ accountId: string; issuerId: string }> {
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
  for (let n = 0; n < PEOPLE; n++)
    await post(`${I}/users`, { username_type: 'unique', username: `person-${n}`, profile: { name: `Person ${n}` } })
  for (let n = 0; n < 20; n++) {
    await post(`${I}/clients`, { name: `Client ${n}`, type: 'internal', confidential: false, settings: {} })
    await post(`${I}/organizations`, { name: `Organization ${n}` })
  }
  return { accountId, issuerId }
}
