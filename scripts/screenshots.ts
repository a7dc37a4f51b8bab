/**
 * `npm run screenshots` takes screenshots of the main pages into docs/images, in light and dark mode, with Chromium and
 * a temporary deployment with two weeks of demo data. Review the images before you commit them.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { readConfig } from '../src/config.js'
import { packageRoot } from '../src/platform/package-info.js'
import { startDatabaseServer } from '../src/platform/postgres/database-server.js'
import { ADMIN, signInAsAdministrator } from '../test/browser/console-fixture.js'
import { launchBrowser } from '../test/browser/monitored-page.js'
import { createDemoData, type DemoData } from '../test/setup/demo-data.js'
import { createTestClock, startApp } from '../test/setup/start-app.js'

interface Screenshot {
  name: string
  /** The path below the console, or a full URL. */
  pathFor(of: DemoData): string
  /** Waits until the page is complete. */
  waitUntilReady(page: Page): Promise<unknown>
  phone?: boolean
}

const issuerPagePath = ({ accountId, issuerId }: DemoData, path: string) =>
  `/accounts/${accountId}/issuers/${issuerId}${path}`
const waitForRows = (page: Page) => page.getByRole('row').nth(3).waitFor()

const screenshotPages: Screenshot[] = [
  {
    name: 'sign-in',
    pathFor: ({ authorizeUrl }) => authorizeUrl,
    waitUntilReady: (page) => page.getByLabel('Password').waitFor(),
  },
  {
    name: 'account',
    pathFor: ({ accountId }) => `/accounts/${accountId}`,
    waitUntilReady: (page) => page.getByText('Partner portal').waitFor(),
  },
  {
    name: 'issuer',
    pathFor: (of) => issuerPagePath(of, ''),
    waitUntilReady: (page) => page.getByText('Web shop').first().waitFor(),
  },
  { name: 'users', pathFor: (of) => issuerPagePath(of, '/users'), waitUntilReady: waitForRows },
  {
    name: 'user',
    pathFor: (of) => issuerPagePath(of, `/users/${of.userId}`),
    waitUntilReady: (page) => page.getByRole('heading', { level: 1 }).waitFor(),
  },
  {
    name: 'client',
    pathFor: (of) => issuerPagePath(of, `/clients/${of.clientId}`),
    waitUntilReady: (page) => page.locator('pre').first().waitFor(),
  },
  { name: 'events', pathFor: ({ accountId }) => `/accounts/${accountId}/events`, waitUntilReady: waitForRows },
  {
    name: 'charts',
    pathFor: ({ accountId }) => `/accounts/${accountId}/events/charts`,
    waitUntilReady: (page) => page.getByText('In UTC.').waitFor(),
  },
  {
    name: 'deliveries',
    pathFor: ({ accountId, webhookId }) => `/accounts/${accountId}/webhooks/${webhookId}/deliveries`,
    waitUntilReady: waitForRows,
  },
  {
    name: 'approvals',
    pathFor: (of) => issuerPagePath(of, '/approvals'),
    waitUntilReady: (page) => page.getByText('Tom Becker').first().waitFor(),
  },
  {
    name: 'settings',
    pathFor: (of) => issuerPagePath(of, '/settings/branding'),
    waitUntilReady: (page) => page.getByLabel('Logo').waitFor(),
  },
  { name: 'playground', pathFor: () => `${app.baseUrl}/playground`, waitUntilReady: runPlaygroundQuery },
  {
    name: 'phone-issuer',
    phone: true,
    pathFor: (of) => issuerPagePath(of, ''),
    waitUntilReady: (page) => page.getByText('Web shop').first().waitFor(),
  },
  { name: 'phone-users', phone: true, pathFor: (of) => issuerPagePath(of, '/users'), waitUntilReady: waitForRows },
  {
    name: 'phone-sign-in',
    phone: true,
    pathFor: ({ authorizeUrl }) => authorizeUrl,
    waitUntilReady: (page) => page.getByLabel('Password').waitFor(),
  },
]

async function runPlaygroundQuery(page: Page): Promise<void> {
  await page.locator('[aria-label="Operation Editor"] .view-line').first().waitFor()
  await page.getByRole('region', { name: 'Examples' }).getByRole('button', { name: 'Who am I' }).click()
  await page.getByRole('button', { name: 'Execute query' }).click()
  await page.getByText('svc:all').first().waitFor()
}

const folder = join(packageRoot, 'docs/images')
const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-pictures-'))
const store = await startDatabaseServer(readConfig({ DATA_DIR: dataDir }), () => {})
const clock = createTestClock()
clock.advance(-14 * 86_400_000)
let deliveryCount = 0
const app = await startApp({
  databaseUrl: store.url,
  clock,
  roles: ['core', 'idp', 'worker'],
  env: { BOOTSTRAP_ADMIN_EMAIL: ADMIN.email, BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password },
  // Replaces the webhook receivers: one of nine deliveries fails.
  outbound: () => ({
    send: async () => ({ status: ++deliveryCount % 9 === 0 ? 503 : 200, headers: {}, body: '' }),
    close: async () => {},
  }),
})
const browser = await launchBrowser()
try {
  const demoData = await createDemoData(app)
  mkdirSync(folder, { recursive: true })
  const selectedNames = process.argv.slice(2)
  for (const phone of [false, true]) {
    const context = await browser.newContext({
      viewport: phone ? { width: 390, height: 780 } : { width: 1280, height: 800 },
    })
    const page = await context.newPage()
    page.setDefaultTimeout(15_000)
    await signInAsAdministrator(page, `${app.baseUrl}/console/accounts/${demoData.accountId}`)
    await page.getByText('Northwind staff').first().waitFor()
    for (const { name, pathFor, waitUntilReady } of screenshotPages.filter(
      (screenshot) => (screenshot.phone ?? false) === phone,
    )) {
      if (selectedNames.length > 0 && !selectedNames.includes(name)) continue
      const address = pathFor(demoData)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        await page.goto(address.startsWith('http') ? address : `${app.baseUrl}/console${address}`)
        await waitUntilReady(page)
        await page.waitForLoadState('networkidle')
        await saveScreenshot(page, `${name}-${colorScheme}`)
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

/**
 * Saves a screenshot as WebP, which has a quarter of the size of PNG. Playwright does not support WebP, so the Chrome
 * DevTools Protocol is used.
 */
async function saveScreenshot(page: Page, name: string): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 82 })
  await session.detach()
  writeFileSync(join(folder, `${name}.webp`), Buffer.from(data, 'base64'))
  // With LOOK, the path of a directory, also saves a PNG there, for viewers without WebP support.
  if (process.env['LOOK']) await page.screenshot({ path: join(process.env['LOOK'], `${name}.png`) })
  console.log(name, Math.round((data.length * 0.75) / 1024), 'kB')
}
