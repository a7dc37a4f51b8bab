/** Accessibility checks (WCAG 2.1 A and AA) with axe-core. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const rules = { light: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'], dark: ['color-contrast'] }

/**
 * Checks the page in the light color scheme, and its contrast in the dark one.
 * @returns a line for each serious or critical violation
 */
export async function accessibilityViolations(page: Page): Promise<string[]> {
  const violations: string[] = []
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const found =
      await page.evaluate(`axe.run(document, { runOnly: ${JSON.stringify(rules[colorScheme])}, resultTypes: ['violations'] })
      .then(({ violations }) => violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(({ id, nodes }) => id + ': ' + nodes.map(({ target, failureSummary }) => target + ' ' + failureSummary).join(' | ')))`)
    const where = `${new URL(page.url()).pathname.replace(/\w{3}_\w{26}/g, '…')} in ${colorScheme}`
    for (const text of found as string[]) violations.push(`${where}: ${text}`)
  }
  await page.emulateMedia({ colorScheme: 'light' })
  return violations
}
