import { once } from 'node:events'
import { createReadStream, createWriteStream, statSync, type WriteStream } from 'node:fs'
import { createGunzip } from 'node:zlib'
import type { Config } from '../config.js'
import { recordsIn } from '../kernel/json-records.js'
import { exportUsers } from '../resources/users/importing/export-users.js'
import { importUsers, type Line, sourceOf, type Totals } from '../resources/users/importing/import-users.js'
import { type Source, sources } from '../resources/users/importing/sources.js'
import type { UsernameType } from '../resources/users/usernames.js'
import { exitCodes } from './command.js'
import { inDeployment, note, placeOfIssuer, say } from './deployment.js'
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
  const input = open(file)
  const errors = options.errors === undefined ? undefined : await lineFile(options.errors)
  const ids = options.ids === undefined ? undefined : await lineFile(options.ids)
  const bar = progressBar(json)
  const reasons = new Map<string, number>()
  const firstRefusals: string[] = []
  try {
    const { source, lines } = await detect(recordsIn(input.chunks), options.from)
    const totals = await inDeployment(config, async (context) =>
      importUsers(context, await placeOfIssuer(context, issuer), lines, {
        source,
        dryRun,
        login: [login],
        dropUnsupported: options.dropUnsupported ?? false,
        refused(refusal) {
          const { line, externalId, reason, message, fix } = refusal
          reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
          errors?.write({ line, external_id: externalId, reason, message, fix })
          if (firstRefusals.length < 10) firstRefusals.push(`line ${line}: ${message} ${fix}`)
        },
        imported: (external_id, user_id) => ids?.write({ external_id, user_id }),
        progress: ({ read, imported, refused }) =>
          bar.show(input.share(), `${read} read, ${imported} imported, ${refused} refused`),
      }),
    )
    bar.end()
    tell(totals, { source, dryRun, json, reasons, firstRefusals, errors: options.errors })
    return totals.refused > 0 ? exitCodes.remains : exitCodes.done
  } finally {
    await errors?.close()
    await ids?.close()
    input.close()
  }
}

interface Told {
  source: Source
  dryRun: boolean
  json: boolean
  reasons: ReadonlyMap<string, number>
  firstRefusals: readonly string[]
  errors: string | undefined
}

function tell(totals: Totals, { source, dryRun, json, reasons, firstRefusals, errors }: Told): void {
  const { read, imported, known, refused, withoutPassword, totp, hashes, weak } = totals
  if (json) {
    const counts = { read, imported, known, refused, without_password: withoutPassword, totp, weak_hashes: weak }
    say(JSON.stringify({ source, dry_run: dryRun, ...counts, hashes, reasons: Object.fromEntries(reasons) }))
    return
  }
  const kinds = Object.entries(hashes).map(([kind, count]) => `${kind} ${count}`)
  say(`${dryRun ? 'Would import' : 'Imported'} ${imported} of ${read} users from ${source}.`)
  if (known > 0) say(`${known} are here already, from an earlier run.`)
  if (kinds.length > 0) say(`Password hashes: ${kinds.join(', ')}. They become Argon2id when their owners sign in.`)
  if (withoutPassword > 0) say(`${withoutPassword} have no password.`)
  if (totp > 0) say(`${totp} have one-time codes.`)
  if (weak > 0) say(`${weak} hashes are plain digests, which are quickly guessed: have these people sign in soon.`)
  if (refused === 0) return
  say(`${refused} refused: ${[...reasons].map(([reason, count]) => `${reason} ${count}`).join(', ')}.`)
  for (const refusal of firstRefusals) note(`  ${refusal}`)
  if (refused > firstRefusals.length)
    note(errors ? `  All of them are in ${errors}.` : '  See all of them with --errors <file>.')
}

/** The file, or standard input for `-`; gzip by its name. */
function open(file: string): { chunks: AsyncIterable<Buffer>; share(): number | undefined; close(): void } {
  if (file === '-') return { chunks: process.stdin, share: () => undefined, close: () => process.stdin.destroy() }
  const stats = statSync(file, { throwIfNoEntry: false })
  if (!stats || stats.isDirectory()) throw new Error(`There is no file ${file}.`)
  const { size } = stats
  const stream = createReadStream(file, { highWaterMark: 1 << 20 })
  const chunks = file.endsWith('.gz') ? stream.pipe(createGunzip()) : stream
  return { chunks, share: () => (size === 0 ? 1 : stream.bytesRead / size), close: () => stream.destroy() }
}

/** Which product wrote the file: what was said, or what the first record looks like. */
async function detect(
  lines: AsyncGenerator<Line>,
  said: Source | undefined,
): Promise<{ source: Source; lines: AsyncIterable<Line> }> {
  const { value: first, done } = await lines.next()
  if (done) throw new Error('The file holds no users: neither lines of JSON, nor an array, nor an object with "users".')
  const source = said ?? (first.text === undefined ? undefined : sourceOf(first.text))
  if (!source) throw new Error(`The first record is of none of ${sources.join(', ')}; say which by --from.`)
  return {
    source,
    lines: (async function* () {
      yield first
      yield* lines
    })(),
  }
}

/** A file of JSON lines, for its owner only. */
async function lineFile(path: string): Promise<{ write(row: object): void; close(): Promise<void> }> {
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
  await inDeployment(config, async (context) => {
    for await (const users of exportUsers(context, await placeOfIssuer(context, issuer), withCredentials)) {
      const text = users.map((user) => `${JSON.stringify(user)}\n`).join('')
      if (!stream.write(text)) await once(stream, 'drain')
      count += users.length
      bar.show(undefined, `${count} users`)
    }
  })
  if (out !== undefined) await new Promise<void>((done, fail) => void stream.once('error', fail).end(() => done()))
  bar.end()
  note(`Exported ${count} users${withCredentials ? ' with their credentials: keep this file like the database' : ''}.`)
}
