/** What went wrong, for whom typed the command: one clear text for people, the same as JSON for scripts; no stack. */
import type { OptionRow } from './command.js'

/** Words that cannot be right, whatever the deployment: exit code 2. */
export class Misuse extends Error {
  readonly code = 'misused'
}

interface Detail {
  field: string
  message: string
}

/** Of a driver's error, and of the system's. */
interface Fault {
  code?: unknown
  message?: string
  syscall?: string
  path?: string
}

/** What PostgreSQL says by SQLSTATE, and what to do. */
const databaseFixes: Readonly<Record<string, string>> = {
  '28P01': 'Check user and password in DATABASE_URL.',
  '28000': 'Check user and password in DATABASE_URL, and pg_hba.conf of the server.',
  '3D000': 'Make it (createdb), or correct DATABASE_URL.',
  '42501': 'Let the role of DATABASE_URL own the database and its tables, or name the role that does.',
  '53300': 'Raise max_connections, or try again when less is going on.',
  '57P03': 'Try again in a moment.',
}

/** A failure in the operator's words, with a code for scripts where there is one. */
export function explained(error: unknown): { code: string; message: string } {
  // Of several addresses that were tried, the errors stand inside.
  const [first = error] = error instanceof AggregateError ? error.errors : []
  const { code, message = String(first), syscall, path } = (first ?? {}) as Fault
  const name = typeof code === 'string' ? code : 'failed'
  const fix = databaseFixes[name]
  if (fix) return { code: 'database_refused', message: `The database does not let us: ${message}. ${fix}` }
  if (syscall === 'connect' || syscall === 'getaddrinfo' || /timeout expired|connection timeout/i.test(message)) {
    const text = `The database cannot be reached: ${message}. Check DATABASE_URL, the server and the way to it.`
    return { code: 'database_unreachable', message: text }
  }
  if (path !== undefined && syscall !== undefined)
    return { code: name, message: `${path} cannot be used: ${message}. Check the path, its permissions and DATA_DIR.` }
  return { code: name, message }
}

/** Says it on stderr. */
export function tellFailure(error: unknown, asJson: boolean, options: readonly OptionRow[] = []): void {
  const { more } = error as { more?: { details?: Detail[] } }
  const details = (more?.details ?? []).map((detail) => ({ ...detail, field: optionFor(detail.field, options) }))
  const { code, message } = explained(error)
  const [one] = more?.details ?? []
  const text = one ? message.replace(one.field, details[0]!.field) : message
  if (asJson) process.stderr.write(`${JSON.stringify({ error: code, error_description: text, details })}\n`)
  else {
    const rest = details.length > 1 ? details.map((detail) => `\n  ${detail.field}: ${detail.message}`) : []
    process.stderr.write(`${text}${rest.join('')}\n`)
  }
}

/** A field of the rules as it was typed: `ownerUserId` as `--owner`. */
function optionFor(field: string, options: readonly OptionRow[]): string {
  const row = options.find(({ fields = [] }) => fields.includes(field.replace(/\[\d+\]$/, '')))
  return row ? row.flags.split(' ')[0]! : field
}
