/**
 * `npm run pictures` photographs the main pages into docs/images, light and dark, in a real Chromium: a Gatehouse of its
 * own with an account that has lived for two weeks. Look at what it made before you commit it.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { readConfig } from '../../src/config.js'
import { packageRoot } from '../../src/platform/package-root.js'
import { openStore } from '../../src/store.js'
import { ADMIN, signIn } from '../browser/console-world.js'
import { startStrictBrowser } from '../browser/watched-page.js'
import { type Demonstration, demonstrate } from './demonstration.js'
import { startApp, testClock } from './start-app.js'

interface Picture {
  name: string
  /** Below the console, or a whole address. */
  path(of: Demonstration): string
  /** What must be there before it is taken. */
  ready(page: Page): Promise<unknown>
  phone?: boolean
}

const inIssuer = ({ accountId, issuerId }: Demonstration, path: string) =>
  `/accounts/${accountId}/issuers/${issuerId}${path}`
const rows = (page: Page) => page.getByRole('row').nth(3).waitFor()

const pictures: Picture[] = [
  {
    name: 'sign-in',
    path: ({ authorizeUrl }) => authorizeUrl,
    ready: (page) => page.getByLabel('Password').waitFor(),
  },
  {
    name: 'account',
    path: ({ accountId }) => `/accounts/${accountId}`,
    ready: (page) => page.getByText('Partner portal').waitFor(),
  },
  { name: 'issuer', path: (of) => inIssuer(of, ''), ready: (page) => page.getByText('Web shop').first().waitFor() },
  { name: 'users', path: (of) => inIssuer(of, '/users'), ready: rows },
  {
    name: 'user',
    path: (of) => inIssuer(of, `/users/${of.userId}`),
    ready: (page) => page.getByRole('heading', { level: 1 }).waitFor(),
  },
  {
    name: 'client',
    path: (of) => inIssuer(of, `/clients/${of.clientId}`),
    ready: (page) => page.locator('pre').first().waitFor(),
  },
  { name: 'events', path: ({ accountId }) => `/accounts/${accountId}/events`, ready: rows },
  {
    name: 'charts',
    path: ({ accountId }) => `/accounts/${accountId}/events/charts`,
    ready: (page) => page.getByText('In UTC.').waitFor(),
  },
  {
    name: 'deliveries',
    path: ({ accountId, webhookId }) => `/accounts/${accountId}/webhooks/${webhookId}/deliveries`,
    ready: rows,
  },
  {
    name: 'approvals',
    path: (of) => inIssuer(of, '/approvals'),
    ready: (page) => page.getByText('Tom Becker').first().waitFor(),
  },
  {
    name: 'settings',
    path: (of) => inIssuer(of, '/settings/branding'),
    ready: (page) => page.getByLabel('Logo').waitFor(),
  },
  { name: 'playground', path: () => `${app.baseUrl}/playground`, ready: explore },
  {
    name: 'phone-issuer',
    phone: true,
    path: (of) => inIssuer(of, ''),
    ready: (page) => page.getByText('Web shop').first().waitFor(),
  },
  { name: 'phone-users', phone: true, path: (of) => inIssuer(of, '/users'), ready: rows },
  {
    name: 'phone-sign-in',
    phone: true,
    path: ({ authorizeUrl }) => authorizeUrl,
    ready: (page) => page.getByLabel('Password').waitFor(),
  },
]

async function explore(page: Page): Promise<void> {
  await page.locator('[aria-label="Operation Editor"] .view-line').first().waitFor()
  await page.getByRole('region', { name: 'Examples' }).getByRole('button', { name: 'Who am I' }).click()
  await page.getByRole('button', { name: 'Execute query' }).click()
  await page.getByText('svc:all').first().waitFor()
}

const folder = join(packageRoot, 'docs/images')
const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-pictures-'))
const store = await openStore(readConfig({ DATA_DIR: dataDir }), () => {})
const clock = testClock()
clock.advance(-14 * 86_400_000)
let asked = 0
const app = await startApp({
  databaseUrl: store.url,
  clock,
  roles: ['core', 'idp', 'worker'],
  env: { BOOTSTRAP_ADMIN_EMAIL: ADMIN.email, BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password },
  // The receivers of other people: one in nine is having a bad moment.
  outbound: () => ({
    send: async () => ({ status: ++asked % 9 === 0 ? 503 : 200, headers: {}, body: '' }),
    close: async () => {},
  }),
})
const browser = await startStrictBrowser()
try {
  const made = await demonstrate(app)
  mkdirSync(folder, { recursive: true })
  const only = process.argv.slice(2)
  for (const phone of [false, true]) {
    const context = await browser.newContext({
      viewport: phone ? { width: 390, height: 780 } : { width: 1280, height: 800 },
    })
    const page = await context.newPage()
    page.setDefaultTimeout(15_000)
    await signIn(page, `${app.baseUrl}/console/accounts/${made.accountId}`)
    await page.getByText('Northwind staff').first().waitFor()
    for (const { name, path, ready } of pictures.filter((one) => (one.phone ?? false) === phone)) {
      if (only.length > 0 && !only.includes(name)) continue
      const address = path(made)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        await page.goto(address.startsWith('http') ? address : `${app.baseUrl}/console${address}`)
        await ready(page)
        await page.waitForLoadState('networkidle')
        await photograph(page, `${name}-${colorScheme}`)
      }
    }
    await context.close()
  }
} finally {
  await browser.close()
  await app.close()
  await store.close()
  rmSync(dataDir, { recursive: true, force: true })
}
process.exit(0)

/** WebP, which is a quarter of a PNG here; Playwright itself knows only the others. */
async function photograph(page: Page, name: string): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 82 })
  await session.detach()
  writeFileSync(join(folder, `${name}.webp`), Buffer.from(data, 'base64'))
  // To be looked at where WebP is not shown.
  if (process.env['LOOK']) await page.screenshot({ path: join(process.env['LOOK'], `${name}.png`) })
  console.log(name, Math.round((data.length * 0.75) / 1024), 'kB')
}
