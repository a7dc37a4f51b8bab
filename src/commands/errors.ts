/** Error output of commands: one message for people, or JSON for scripts, without a stack trace. */
import type { OptionRow } from './option.js'

/** An error in the arguments of a command. The command exits with code 2. */
export class UsageError extends Error {
  readonly code = 'misused'
}

interface Detail {
  field: string
  message: string
}

/** The properties of errors of the database driver and of Node.js that `explainError` reads. */
interface SystemError {
  code?: unknown
  message?: string
  syscall?: string
  path?: string
}

/** How to fix connection and permission errors of PostgreSQL, by SQLSTATE. */
const databaseFixes: Readonly<Record<string, string>> = {
  '28P01': 'Check the user and password in DATABASE_URL.',
  '28000': 'Check the user and password in DATABASE_URL, and pg_hba.conf on the server.',
  '3D000': 'Create the database (createdb), or correct DATABASE_URL.',
  '42501': 'Make the role of DATABASE_URL the owner of the database and its tables, or use the role that owns them.',
  '53300': 'Raise max_connections, or try again when there are fewer connections.',
  '57P03': 'Try again in a moment.',
}

/** Converts an error into a message for operators and a code for scripts. */
export function explainError(error: unknown): { code: string; message: string } {
  // When several IP addresses were tried, Node.js throws an AggregateError.
  const [first = error] = error instanceof AggregateError ? error.errors : []
  const { code, message = String(first), syscall, path } = (first ?? {}) as SystemError
  const name = typeof code === 'string' ? code : 'failed'
  const fix = databaseFixes[name]
  if (fix)
    return { code: 'database_refused', message: `The database refused the connection or statement: ${message}. ${fix}` }
  if (syscall === 'connect' || syscall === 'getaddrinfo' || /timeout expired|connection timeout/i.test(message)) {
    const text = `The database cannot be reached: ${message}. Check DATABASE_URL, the server and the network.`
    return { code: 'database_unreachable', message: text }
  }
  if (path !== undefined && syscall !== undefined)
    return { code: name, message: `${path} cannot be used: ${message}. Check the path, its permissions and DATA_DIR.` }
  return { code: name, message }
}

/**
 * Prints an error to standard error. In the message, names of input fields are replaced by names of options.
 * @param options the options of the command
 */
export function printError(error: unknown, asJson: boolean, options: readonly OptionRow[] = []): void {
  const { options: problem } = error as { options?: { details?: Detail[] } }
  const details = (problem?.details ?? []).map((detail) => ({ ...detail, field: optionNameOf(detail.field, options) }))
  const { code, message } = explainError(error)
  const [one] = problem?.details ?? []
  const text = one ? message.replace(one.field, details[0]!.field) : message
  if (asJson) process.stderr.write(`${JSON.stringify({ error: code, error_description: text, details })}\n`)
  else {
    const rest = details.length > 1 ? details.map((detail) => `\n  ${detail.field}: ${detail.message}`) : []
    process.stderr.write(`${text}${rest.join('')}\n`)
  }
}

/** Returns the option that sets an input field (`--owner` for `ownerUserId`), or the field if there is none. */
function optionNameOf(field: string, options: readonly OptionRow[]): string {
  const row = options.find(({ fields = [] }) => fields.includes(field.replace(/\[\d+\]$/, '')))
  return row ? row.flags.split(' ')[0]! : field
}
