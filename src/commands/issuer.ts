import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { isNode, LineCounter, parseDocument, stringify } from 'yaml'
import { type Config, environmentValue } from '../config.js'
import { ApiError } from '../kernel/errors.js'
import { gateFault } from '../kernel/gate.js'
import { isObject } from '../kernel/merge.js'
import { applyDeclaration, type Result } from '../resources/issuers/declaring/apply.js'
import { declarationOf, presentOf } from '../resources/issuers/declaring/declaration.js'
import type { Difference } from '../resources/issuers/declaring/differences.js'
import { exitCodes } from './command.js'
import { inDeployment, note, placeOfIssuer, say } from './deployment.js'

/** `gatehouse issuer export`. */
export async function exportIssuer(
  config: Config,
  { issuer, portable = false, json }: { issuer: string; portable?: boolean; json?: boolean },
): Promise<void> {
  await inDeployment(config, async (context) => {
    const declaration = declarationOf(await presentOf(context, await placeOfIssuer(context, issuer)), portable)
    process.stdout.write(json ? `${JSON.stringify(declaration)}\n` : stringify(declaration, { lineWidth: 100 }))
  })
}

export interface ApplyOptions {
  issuer?: string
  account?: string
  yes?: boolean
  prune?: boolean
  secrets?: string
  json?: boolean
}

/** `gatehouse issuer apply`. */
export async function applyIssuer(config: Config, options: ApplyOptions, file: string): Promise<number> {
  const { value, lineOf } = readDocument(file)
  const agreed = options.yes === true
  try {
    // Before anything is made whose secret could then be written nowhere.
    if (options.secrets !== undefined && agreed) closeSync(openSync(options.secrets, 'a', 0o600))
    const result = await inDeployment(config, async (context) => {
      const id = options.issuer ?? idIn(value)
      if (id === undefined && options.account === undefined)
        throw new Error('Which issuer? Name it by --issuer, by issuer.id in the file, or its account by --account.')
      const place = id === undefined ? { accountId: options.account! } : await placeOfIssuer(context, id)
      const prune = options.prune === true
      return applyDeclaration(context, place, value, { agreed, prune, keepsSecrets: options.secrets !== undefined })
    })
    if (options.secrets !== undefined && result.made.length > 0)
      writeFileSync(options.secrets, result.made.map((made) => `${JSON.stringify(made)}\n`).join(''), { mode: 0o600 })
    tell(result, agreed, options)
    return agreed || result.steps.length === 0 ? exitCodes.done : exitCodes.remains
  } catch (error) {
    if (!(error instanceof ApiError) || !error.more.details) throw error
    const details = error.more.details.map((detail) => ({ ...detail, ...lineOf(detail.field) }))
    const text = details.map(({ field, line, message }) => `${file}:${line}: ${field} ${message}`)
    throw Object.assign(new Error(text.join('\n')), { code: error.code, more: { details } })
  }
}

const idIn = (value: unknown): string | undefined => {
  const id = isObject(value) && isObject(value['issuer']) ? value['issuer']['id'] : undefined
  return typeof id === 'string' ? id : undefined
}

function tell({ issuerId, steps, made }: Result, agreed: boolean, { json, secrets }: ApplyOptions): void {
  if (json) {
    const plain = steps.map(({ action, what, path, differences }) => ({
      action,
      what,
      path: path.join('.'),
      changes: differences,
    }))
    say(JSON.stringify({ issuer_id: issuerId ?? null, applied: agreed, changes: steps.length, steps: plain }))
    return
  }
  if (steps.length === 0) {
    say('No changes.')
    return
  }
  const signs = { create: '+', update: '~', delete: '-' } as const
  for (const { action, what, differences } of steps) {
    say(`${signs[action]} ${action} ${what}`)
    for (const difference of differences) say(`    ${lineFor(difference)}`)
  }
  const count = `${steps.length} change${steps.length === 1 ? '' : 's'}`
  if (!agreed) note(`${count} planned, nothing written. Apply by --yes.`)
  else say(`${count} applied to ${issuerId}.`)
  if (made.length > 0)
    note(`The secrets of ${made.length} new client${made.length === 1 ? '' : 's'} are in ${secrets}, this once.`)
}

function lineFor(difference: Difference): string {
  const field = difference.field.replace(/^\./, '')
  const [old, now] = [JSON.stringify(difference.old), JSON.stringify(difference.new)]
  if (old === undefined) return `${field}: ${now}`
  return now === undefined ? `${field}: ${old} → (removed)` : `${field}: ${old} → ${now}`
}

/** Reads YAML (or JSON, which is YAML) and finds the lines of its places again. */
function readDocument(file: string): { value: unknown; lineOf(field: string): { line: number } } {
  let text: string
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch {
    throw new Error(`There is no file ${file} that can be read.`)
  }
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true })
  const [fault] = document.errors
  if (fault) throw new Error(`${file}:${fault.linePos?.[0].line ?? 1}: ${fault.message.split('\n')[0]}`)
  // Few aliases: a document of a kilobyte must not become one of a gigabyte.
  const value: unknown = document.toJS({ maxAliasCount: 100 })
  const refused = gateFault(value)
  if (refused !== undefined) throw new Error(`${file}: ${refused}`)
  return {
    value: withSecrets(value, file),
    lineOf(field) {
      const path = field
        .split(/[.[\]]+/)
        .filter(Boolean)
        .map((part) => (/^\d+$/.test(part) ? Number(part) : part))
      for (; path.length > 0; path.pop()) {
        const node = document.getIn(path, true)
        if (isNode(node) && node.range) return { line: lines.linePos(node.range[0]).line }
      }
      return { line: 1 }
    },
  }
}

/** Secrets stand in the document as where they are found: `{env: NAME}` or `{file: path}`. */
function withSecrets(value: unknown, file: string): unknown {
  if (!isObject(value)) return value
  const found = (entry: unknown, key: string, place: string): unknown => {
    if (!isObject(entry) || entry[key] === undefined || entry[key] === null) return entry
    return { ...entry, [key]: secretAt(entry[key], `${file}: ${place}.${key}`) }
  }
  const each = (name: string, change: (entry: unknown, place: string) => unknown) =>
    Array.isArray(value[name]) && { [name]: value[name].map((entry, at) => change(entry, `${name}.${at}`)) }
  return {
    ...value,
    ...each('clients', (entry, place) => found(entry, 'secret', place)),
    ...each('auth_methods', (entry, place) => {
      if (!isObject(entry) || !isObject(entry['settings'])) return entry
      const settings = ['client_secret', 'private_key'].reduce<unknown>(
        (kept, key) => found(kept, key, `${place}.settings`),
        entry['settings'],
      )
      return { ...entry, settings }
    }),
  }
}

function secretAt(source: unknown, place: string): string {
  const { env, file } = (isObject(source) ? source : {}) as { env?: unknown; file?: unknown }
  if (typeof env === 'string') {
    const secret = environmentValue(env)
    if (secret === undefined) throw new Error(`${place}: the environment has no ${env}.`)
    return secret
  }
  if (typeof file !== 'string')
    throw new Error(`${place} must be {env: NAME} or {file: path}: documents hold no secrets.`)
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    throw new Error(`${place}: ${file} cannot be read.`)
  }
}
