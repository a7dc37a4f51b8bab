/** Compares docs/connect with the relying parties of examples/: code, client settings, versions. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { packageRoot } from '../../src/platform/package-info.js'

interface RelyingParty {
  version: string | (() => string | undefined)
  client: { application_type: string; redirect_uris: string[]; response_signature_alg?: string }
  confidential?: boolean
}

const folder = join(packageRoot, 'docs/connect')
const read = (path: string): string => readFileSync(join(packageRoot, path), 'utf8')
const { relyingParties } = (await import(join(packageRoot, 'examples/relying-parties/definitions.mjs'))) as {
  relyingParties: Record<string, RelyingParty>
}
/** The example of each page. Kubernetes is not a program that Gatehouse starts. */
const exampleOf: Record<string, string> = {
  ...Object.fromEntries(Object.keys(relyingParties).map((name) => [`${name}.md`, `examples/relying-parties/${name}`])),
  'express.md': 'examples/express',
}
exampleOf['openid-client.md'] = exampleOf['openid-client-6.md']!
delete exampleOf['openid-client-6.md']
const pages = readdirSync(folder).filter((page) => page !== 'README.md')

/** Returns the code blocks of a page in some language. */
const blocksOf = (page: string, isWanted: (language: string) => boolean): string[] =>
  [...read(`docs/connect/${page}`).matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].flatMap(([, language = '', text = '']) =>
    isWanted(language) ? [text] : [],
  )

/** Returns the lines of a text without indentation and without empty lines, so that parts of a file compare. */
const linesOf = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
    .join('\n')

test('each page but the one of Kubernetes has an example, and each relying party has a page', () => {
  expect(pages.toSorted()).toEqual([...Object.keys(exampleOf), 'kubernetes.md'].toSorted())
})

describe.each(Object.entries(exampleOf))('%s', (page, example) => {
  const files = readdirSync(join(packageRoot, example), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => linesOf(readFileSync(join(entry.parentPath, entry.name), 'utf8')))

  test('contains only code of its example', () => {
    const blocks = blocksOf(page, (language) => !['sh', 'json'].includes(language))
    expect(blocks.length).toBeGreaterThan(0)
    for (const block of blocks) {
      // A block can join several parts of the file, with an empty line between them.
      for (const part of block.split(/\n\n+/)) {
        expect({ part, isInExample: files.some((file) => file.includes(linesOf(part))) }).toEqual({
          part,
          isInExample: true,
        })
      }
    }
  })

  test('starts its example', () => {
    expect(read(`docs/connect/${page}`)).toContain(`\nnpm run example -- ${basename(example)}\n`)
    expect(read(`docs/connect/${page}`)).toContain(`(../../${example})`)
  })

  test('creates a client with the paths and the algorithm of its example', () => {
    const relyingParty = relyingParties[basename(example)]
    const { redirect_uris, response_signature_alg, application_type } = relyingParty?.client ?? {
      redirect_uris: ['/callback'],
      application_type: 'web',
    }
    expect(createdClientOf(page)).toMatchObject({
      confidential: relyingParty?.confidential ?? true,
      settings: {
        openid: { application_type, redirect_uris: redirect_uris.map((path) => `https://app.example.com${path}`) },
      },
    })
    expect(createdClientOf(page).settings.openid.response_signature_alg).toBe(response_signature_alg)
  })
})

/** Returns the body of the request on a page that creates the client. */
function createdClientOf(page: string): { settings: { openid: { response_signature_alg?: string } } } {
  const [, body] = /post "issuers\/\$ISSUER\/clients" '(\{[\s\S]*?\n\})'/.exec(read(`docs/connect/${page}`))!
  return JSON.parse(body!)
}

test('the table "Works with" has the versions of the manifests and the algorithms of the clients', () => {
  const manifest = JSON.parse(read('package.json')) as { devDependencies: Record<string, string> }
  const rows = [...read('docs/connect/README.md').matchAll(/^\| \[[^\]]+\]\(([^)]+)\) +\| ([^|]+) \| (\w+) +\|/gm)]
  expect(rows.map(([, page]) => page!).toSorted()).toEqual(pages.toSorted())
  for (const [, page = '', version = '', algorithm] of rows) {
    const relyingParty = relyingParties[basename(exampleOf[page] ?? '')]
    if (page === 'express.md') expect(version.trim()).toBe(manifest.devDependencies['express-openid-connect'])
    // The versions of packages of the operating system are those that were tested.
    else if (typeof relyingParty?.version === 'string' && page !== 'aspnet-core.md')
      expect({ page, version: version.trim() }).toEqual({ page, version: relyingParty.version })
    expect({ page, algorithm }).toEqual({
      page,
      algorithm: createdClientOf(page).settings.openid.response_signature_alg ?? 'ES256',
    })
  }
})

test('the examples install exact versions', () => {
  for (const name of Object.keys(relyingParties)) {
    const path = `examples/relying-parties/${name}`
    for (const file of readdirSync(join(packageRoot, path))) {
      if (file === 'package.json')
        for (const version of Object.values<string>(JSON.parse(read(`${path}/${file}`)).dependencies))
          expect(version).toMatch(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/)
      if (file === 'requirements.txt')
        for (const line of read(`${path}/${file}`).trim().split('\n')) expect(line).toMatch(/^[\w-]+==[\d.]+$/)
    }
  }
})
