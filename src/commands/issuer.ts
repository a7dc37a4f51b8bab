import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { isNode, LineCounter, parseDocument, stringify } from 'yaml'
import { type Config, environmentValue } from '../config.js'
import { ApiError } from '../kernel/errors.js'
import { isObject } from '../kernel/merge-patch.js'
import { unsafeInputError } from '../kernel/safe-json.js'
import { type ApplyResult, applyDeclaration } from '../resources/issuers/declaring/apply.js'
import { createDeclaration, readIssuerState } from '../resources/issuers/declaring/declaration.js'
import type { Difference } from '../resources/issuers/declaring/differences.js'
import { exitCodes } from './command.js'
import { print, printNotice, requireIssuerPath, withDeployment } from './deployment.js'

/** `gatehouse issuer export`. */
export async function exportIssuer(
  config: Config,
  { issuer, portable = false, json }: { issuer: string; portable?: boolean; json?: boolean },
): Promise<void> {
  await withDeployment(config, async (context) => {
    const declaration = createDeclaration(
      await readIssuerState(context, await requireIssuerPath(context, issuer)),
      portable,
    )
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
  const { value, lineOf } = readIssuerDocument(file)
  const isConfirmed = options.yes === true
  try {
    // If the secrets file cannot be written, the command must fail before it creates a client, because the secret of a
    // client cannot be shown again.
    if (options.secrets !== undefined && isConfirmed) closeSync(openSync(options.secrets, 'a', 0o600))
    const result = await withDeployment(config, async (context) => {
      const id = options.issuer ?? issuerIdIn(value)
      if (id === undefined && options.account === undefined)
        throw new Error(
          'The issuer is not specified. Set --issuer, or issuer.id in the file. Or set --account to find the issuer by its name in that account, or to create it.',
        )
      const path = id === undefined ? { accountId: options.account! } : await requireIssuerPath(context, id)
      const prune = options.prune === true
      return applyDeclaration(context, path, value, {
        confirmed: isConfirmed,
        prune,
        storesSecrets: options.secrets !== undefined,
      })
    })
    if (options.secrets !== undefined && result.createdSecrets.length > 0)
      writeFileSync(options.secrets, result.createdSecrets.map((secret) => `${JSON.stringify(secret)}\n`).join(''), {
        mode: 0o600,
      })
    printApplyResult(result, isConfirmed, options)
    return isConfirmed || result.steps.length === 0 ? exitCodes.done : exitCodes.incomplete
  } catch (error) {
    if (!(error instanceof ApiError) || !error.options.details) throw error
    const details = error.options.details.map((detail) => ({ ...detail, ...lineOf(detail.field) }))
    const text = details.map(({ field, line, message }) => `${file}:${line}: ${field} ${message}`)
    throw Object.assign(new Error(text.join('\n')), { code: error.code, options: { details } })
  }
}

const issuerIdIn = (value: unknown): string | undefined => {
  const id = isObject(value) && isObject(value['issuer']) ? value['issuer']['id'] : undefined
  return typeof id === 'string' ? id : undefined
}

function printApplyResult(
  { issuerId, steps, createdSecrets }: ApplyResult,
  isConfirmed: boolean,
  { json, secrets }: ApplyOptions,
): void {
  if (json) {
    const plain = steps.map(({ action, label, path, differences }) => ({
      action,
      what: label,
      path: path.join('.'),
      changes: differences,
    }))
    print(JSON.stringify({ issuer_id: issuerId ?? null, applied: isConfirmed, changes: steps.length, steps: plain }))
    return
  }
  if (steps.length === 0) {
    print('No changes.')
    return
  }
  const signs = { create: '+', update: '~', delete: '-' } as const
  for (const { action, label: what, differences } of steps) {
    print(`${signs[action]} ${action} ${what}`)
    for (const difference of differences) print(`    ${formatDifference(difference)}`)
  }
  const count = `${steps.length} change${steps.length === 1 ? '' : 's'}`
  if (!isConfirmed) printNotice(`${count} planned. Nothing was written; add --yes to apply.`)
  else print(`${count} applied to ${issuerId}.`)
  if (createdSecrets.length > 0)
    printNotice(
      `The secrets of ${createdSecrets.length} new client${createdSecrets.length === 1 ? '' : 's'} were written to ${secrets}. They cannot be shown again.`,
    )
}

function formatDifference(difference: Difference): string {
  const field = difference.field.replace(/^\./, '')
  const [old, now] = [JSON.stringify(difference.old), JSON.stringify(difference.new)]
  if (old === undefined) return `${field}: ${now}`
  return now === undefined ? `${field}: ${old} → (removed)` : `${field}: ${old} → ${now}`
}

/**
 * Reads a YAML or JSON document. `lineOf` returns the line of a field, or of the next object around it,
 * for error messages.
 */
function readIssuerDocument(file: string): { value: unknown; lineOf(field: string): { line: number } } {
  let text: string
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch {
    throw new Error(`The file ${file} cannot be read; check the path and its permissions.`)
  }
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true })
  const [parseError] = document.errors
  if (parseError) throw new Error(`${file}:${parseError.linePos?.[0].line ?? 1}: ${parseError.message.split('\n')[0]}`)
  // Limits aliases, which could expand a small document to gigabytes.
  const value: unknown = document.toJS({ maxAliasCount: 100 })
  const inputError = unsafeInputError(value)
  if (inputError !== undefined) throw new Error(`${file}: ${inputError}`)
  return {
    value: resolveSecrets(value, file),
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

/** Replaces references to secrets (`{env: NAME}` or `{file: path}`) by their values. */
function resolveSecrets(value: unknown, file: string): unknown {
  if (!isObject(value)) return value
  const resolveSecretField = (entry: unknown, key: string, path: string): unknown => {
    if (!isObject(entry) || entry[key] === undefined || entry[key] === null) return entry
    return { ...entry, [key]: readSecret(entry[key], `${file}: ${path}.${key}`) }
  }
  const mapEntries = (name: string, change: (entry: unknown, path: string) => unknown) =>
    Array.isArray(value[name]) && { [name]: value[name].map((entry, at) => change(entry, `${name}.${at}`)) }
  return {
    ...value,
    ...mapEntries('clients', (entry, path) => resolveSecretField(entry, 'secret', path)),
    ...mapEntries('auth_methods', (entry, path) => {
      if (!isObject(entry) || !isObject(entry['settings'])) return entry
      const settings = ['client_secret', 'private_key'].reduce<unknown>(
        (resolved, key) => resolveSecretField(resolved, key, `${path}.settings`),
        entry['settings'],
      )
      return { ...entry, settings }
    }),
  }
}

function readSecret(source: unknown, path: string): string {
  const { env, file } = (isObject(source) ? source : {}) as { env?: unknown; file?: unknown }
  if (typeof env === 'string') {
    const secret = environmentValue(env)
    if (secret === undefined) throw new Error(`${path}: the environment variable ${env} is not set or is empty.`)
    return secret
  }
  if (typeof file !== 'string')
    throw new Error(`${path} must be {env: NAME} or {file: path}: a document must not contain secrets.`)
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    throw new Error(`${path}: the file ${file} cannot be read; check the path and its permissions.`)
  }
}
