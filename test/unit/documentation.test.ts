/** Checks the generated pages, the links in documents and the metrics of the Grafana dashboard. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test } from '@jest/globals'
import { pages, referenceFolder } from '../../scripts/reference.js'
import { readMetrics } from '../../src/platform/metrics.js'
import { packageRoot } from '../../src/platform/package-info.js'
import { startApp } from '../setup/start-app.js'

test.each(Object.entries(pages()))('docs/reference/%s is up to date; npm run reference writes it', (name, text) => {
  expect(readFileSync(join(referenceFolder, name), 'utf8')).toBe(text)
})

const topLevel = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md']
const documents = [...topLevel, ...below('docs'), ...below('examples')]
function below(path: string): string[] {
  return readdirSync(join(packageRoot, path), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
    .map((entry) => relative(packageRoot, join(entry.parentPath, entry.name)))
    .filter((document) => !document.includes('node_modules'))
}

/** Returns the anchor that GitHub creates for a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

test('each link between documents names an existing file and heading', () => {
  const broken = documents.flatMap((path) => {
    const text = readFileSync(join(packageRoot, path), 'utf8').replace(/```[\s\S]*?```|`[^`\n]*\]\([^`\n]*`/g, '')
    return [...text.matchAll(/\]\(\s*([^)\s]+)\s*\)/g)].flatMap(([, link = '']) => {
      if (/^[a-z]+:/.test(link)) return []
      const [file = '', anchor] = link.split('#')
      const target = file === '' ? join(packageRoot, path) : join(packageRoot, dirname(path), file)
      if (!existsSync(target)) return [`${path}: ${link}`]
      if (anchor === undefined) return []
      const headings = [...readFileSync(target, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
        anchorOf(heading),
      )
      return headings.includes(anchor) ? [] : [`${path}: ${link}`]
    })
  })
  expect(broken).toEqual([])
})

test('docs/grafana/gatehouse.json uses existing metrics and labels', async () => {
  const app = await startApp({ roles: ['core'] })
  const { requests, rateLimited } = app.gatehouse.metrics
  requests.observe({ server: 'core', method: 'GET', route: 'other', status: '200' }, 0.1)
  rateLimited.inc({ limit: 'login' })
  const { text } = await readMetrics(app.gatehouse.metrics)
  await app.close()
  const series = new Set([...text.matchAll(/^(?:# TYPE )?(gatehouse_\w+)/gm)].map(([, name]) => name))
  const labels = new Set(['instance', 'job', ...[...text.matchAll(/(\w+)="/g)].map(([, name]) => name)])
  const dashboard = JSON.parse(readFileSync(join(packageRoot, 'docs/grafana/gatehouse.json'), 'utf8'))
  const queries: string[] = dashboard.panels.flatMap((panel: { targets?: { expr: string }[] }) =>
    (panel.targets ?? []).map(({ expr }) => expr),
  )
  expect(queries.length).toBeGreaterThan(5)
  for (const query of queries) {
    const used = query.match(/gatehouse_\w+/g) ?? []
    expect({ query, usesMetrics: used.length > 0, unknown: used.filter((name) => !series.has(name)) }).toEqual({
      query,
      usesMetrics: true,
      unknown: [],
    })
    const usedLabels = [...query.matchAll(/\{([^}]*)\}|by \(([^)]*)\)/g)].flatMap(([, filter = '', by = '']) => [
      ...[...filter.matchAll(/(\w+)\s*(?:=|!)/g)].map(([, name]) => name),
      ...by.split(',').map((name) => name.trim()),
    ])
    expect(usedLabels.filter((name) => name && !labels.has(name))).toEqual([])
  }
})
