/** What seriously keeps people out of a page (WCAG 2 A and AA), as axe-core finds it. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const rules = { light: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'], dark: ['color-contrast'] }

/** @returns a line for each barrier, in light and in dark; none is what is wanted */
export async function barriersOn(page: Page): Promise<string[]> {
  const barriers: string[] = []
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const found =
      await page.evaluate(`axe.run(document, { runOnly: ${JSON.stringify(rules[colorScheme])}, resultTypes: ['violations'] })
      .then(({ violations }) => violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, nodes }) => id + ': ' + nodes.map(({ target, failureSummary }) => target + ' ' + failureSummary).join(' | ')))`)
    const where = `${new URL(page.url()).pathname.replace(/\w{3}_\w{26}/g, '…')} in ${colorScheme}`
    for (const text of found as string[]) barriers.push(`${where}: ${text}`)
  }
  await page.emulateMedia({ colorScheme: 'light' })
  return barriers
}
