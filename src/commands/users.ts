import { once } from 'node:events'
import { createReadStream, createWriteStream, statSync, type WriteStream } from 'node:fs'
import { createGunzip } from 'node:zlib'
import type { Config } from '../config.js'
import { readJsonRecords } from '../kernel/json-records.js'
import { exportUsers } from '../resources/users/importing/export-users.js'
import {
  detectSource,
  type ImportLine,
  type ImportTotals,
  importUsers,
} from '../resources/users/importing/import-users.js'
import { type Source, sources } from '../resources/users/importing/sources.js'
import type { UsernameType } from '../resources/users/user.js'
import { exitCodes } from './command.js'
import { print, printNotice, requireIssuerPath, withDeployment } from './deployment.js'
import { progressBar } from './progress.js'

export interface ImportOptions {
  issuer: string
  from?: Source
  dryRun?: boolean
  login?: 'email' | 'username' | 'phone'
  dropUnsupported?: boolean
  errors?: string
  ids?: string
  json?: boolean
}

/** `gatehouse users import`. */
export async function importFile(config: Config, options: ImportOptions, file: string): Promise<number> {
  const { issuer, dryRun = false, json = false } = options
  const login = (options.login === 'username' ? 'unique' : (options.login ?? 'email')) as UsernameType
  const input = openInput(file)
  const errors = options.errors === undefined ? undefined : await openJsonLinesFile(options.errors)
  const ids = options.ids === undefined ? undefined : await openJsonLinesFile(options.ids)
  const bar = progressBar(json)
  const reasons = new Map<string, number>()
  const firstRefusals: string[] = []
  try {
    const { source, lines } = await sourceAndLines(readJsonRecords(input.chunks), options.from)
    const totals = await withDeployment(config, async (context) =>
      importUsers(context, await requireIssuerPath(context, issuer), lines, {
        source,
        dryRun,
        login: [login],
        dropUnsupported: options.dropUnsupported ?? false,
        onRefused(refusal) {
          const { line, externalId, reason, message, fix } = refusal
          reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
          errors?.write({ line, external_id: externalId, reason, message, fix })
          if (firstRefusals.length < 10) firstRefusals.push(`line ${line}: ${message} ${fix}`)
        },
        onImported: (external_id, user_id) => ids?.write({ external_id, user_id }),
        onProgress: ({ read, imported, refused }) =>
          bar.show(input.fractionRead(), `${read} read, ${imported} imported, ${refused} refused`),
      }),
    )
    bar.end()
    printImportReport(totals, { source, dryRun, json, reasons, firstRefusals, errors: options.errors })
    return totals.refused > 0 ? exitCodes.incomplete : exitCodes.done
  } finally {
    await errors?.close()
    await ids?.close()
    input.close()
  }
}

interface ImportReport {
  source: Source
  dryRun: boolean
  json: boolean
  reasons: ReadonlyMap<string, number>
  firstRefusals: readonly string[]
  errors: string | undefined
}

function printImportReport(
  totals: ImportTotals,
  { source, dryRun, json, reasons, firstRefusals, errors }: ImportReport,
): void {
  const { read, imported, known, refused, withoutPassword, totp, hashes, weak } = totals
  if (json) {
    const counts = { read, imported, known, refused, without_password: withoutPassword, totp, weak_hashes: weak }
    print(JSON.stringify({ source, dry_run: dryRun, ...counts, hashes, reasons: Object.fromEntries(reasons) }))
    return
  }
  const kinds = Object.entries(hashes).map(([kind, count]) => `${kind} ${count}`)
  print(`${dryRun ? 'Would import' : 'Imported'} ${imported} of ${read} users from ${source}.`)
  if (known > 0) print(`${known} users were already imported in an earlier run.`)
  if (kinds.length > 0)
    print(`Password hashes: ${kinds.join(', ')}. They are replaced by Argon2id when the users sign in.`)
  if (withoutPassword > 0) print(`${withoutPassword} users have no password.`)
  if (totp > 0) print(`${totp} users have a TOTP second factor.`)
  if (weak > 0)
    print(
      `${weak} hashes are digests without a work factor, so an attacker can try passwords quickly. Ask the users with these formats to sign in soon.`,
    )
  if (refused === 0) return
  print(`${refused} refused: ${[...reasons].map(([reason, count]) => `${reason} ${count}`).join(', ')}.`)
  for (const refusal of firstRefusals) printNotice(`  ${refusal}`)
  if (refused > firstRefusals.length)
    printNotice(
      errors
        ? `  ${errors} lists all refused records with their reasons.`
        : '  Use --errors <file> to list all refused records with their reasons.',
    )
}

/** Opens the file, or standard input for `-`. Decompresses files whose name ends in .gz. */
function openInput(file: string): { chunks: AsyncIterable<Buffer>; fractionRead(): number | undefined; close(): void } {
  if (file === '-')
    return { chunks: process.stdin, fractionRead: () => undefined, close: () => process.stdin.destroy() }
  const stats = statSync(file, { throwIfNoEntry: false })
  if (!stats || stats.isDirectory()) throw new Error(`${file} does not exist or is a folder.`)
  const { size } = stats
  const stream = createReadStream(file, { highWaterMark: 1 << 20 })
  const chunks = file.endsWith('.gz') ? stream.pipe(createGunzip()) : stream
  return { chunks, fractionRead: () => (size === 0 ? 1 : stream.bytesRead / size), close: () => stream.destroy() }
}

/**
 * Returns the product that exported the file, and all records. Without a requested product, it is detected from the
 * first record.
 */
async function sourceAndLines(
  lines: AsyncGenerator<ImportLine>,
  requestedSource: Source | undefined,
): Promise<{ source: Source; lines: AsyncIterable<ImportLine> }> {
  const { value: first, done } = await lines.next()
  if (done)
    throw new Error('The file contains no users: it must be JSON lines, a JSON array, or an object with "users".')
  const source = requestedSource ?? (first.text === undefined ? undefined : detectSource(first.text))
  if (!source) throw new Error(`The format of the first record is unknown; set --from to one of ${sources.join(', ')}.`)
  return {
    source,
    lines: (async function* () {
      yield first
      yield* lines
    })(),
  }
}

/** Creates a JSON lines file with mode 0600, or overwrites an existing file and keeps its mode. */
async function openJsonLinesFile(path: string): Promise<{ write(row: object): void; close(): Promise<void> }> {
  const stream: WriteStream = createWriteStream(path, { mode: 0o600 })
  await once(stream, 'open')
  return {
    write: (row) => void stream.write(`${JSON.stringify(row)}\n`),
    close: () => new Promise((done, fail) => stream.once('error', fail).end(done)),
  }
}

/** `gatehouse users export`. */
export async function exportFile(
  config: Config,
  { issuer, out, withCredentials = false }: { issuer: string; out?: string; withCredentials?: boolean },
): Promise<void> {
  const stream = out === undefined ? process.stdout : createWriteStream(out, { mode: 0o600 })
  const bar = progressBar(out === undefined)
  let count = 0
  await withDeployment(config, async (context) => {
    for await (const users of exportUsers(context, await requireIssuerPath(context, issuer), withCredentials)) {
      const text = users.map((user) => `${JSON.stringify(user)}\n`).join('')
      if (!stream.write(text)) await once(stream, 'drain')
      count += users.length
      bar.show(undefined, `${count} users`)
    }
  })
  if (out !== undefined) await new Promise<void>((done, fail) => void stream.once('error', fail).end(() => done()))
  bar.end()
  printNotice(
    `Exported ${count} users${withCredentials ? ' with their credentials; protect this file like the database' : ''}.`,
  )
}
