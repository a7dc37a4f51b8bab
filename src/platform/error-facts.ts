/**
 * What may be kept of an error, in logs and beside failed jobs: what failed and where, no value of a row and no mail
 * address. PostgreSQL writes values into `detail` and `where`, and for bad input into the message; Prisma and mail
 * servers quote what they were given.
 */
import { sqlState } from './sql-state.js'

export interface ErrorFacts {
  type: string
  message: string
  stack: string
  cause?: ErrorFacts
  [fact: string]: unknown
}

/** Names and codes that errors of the driver, the mail library, Node.js and this product carry. */
const facts = ['constraint', 'table', 'column', 'routine', 'syscall', 'responseCode', 'command', 'fault', 'status']

/** Causes of causes, at most. */
const DEPTH = 4

/** The error as a log line has it. */
export function errorFacts(error: unknown, depth = DEPTH): ErrorFacts {
  if (!(error instanceof Error)) return { type: typeof error, message: messageOf(error), stack: '' }
  const own = error as unknown as Record<string, unknown>
  const stack = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  const { cause } = error
  return {
    type: error.name,
    message: messageOf(error),
    ...Object.fromEntries(facts.flatMap((name) => (isFact(own[name]) ? [[name, own[name]]] : []))),
    // Not as `code`, which logs redact.
    ...(isFact(own['code']) && { error_code: own['code'] }),
    ...(sqlState(error) !== undefined && { sqlstate: sqlState(error) }),
    stack: stack.join('\n'),
    ...(cause instanceof Error && depth > 0 && { cause: errorFacts(cause, depth - 1) }),
  }
}

const isFact = (value: unknown): boolean => typeof value === 'string' || typeof value === 'number'

/** The message of an error without values. */
export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error)
  const state = sqlState(error)
  // Class 22 is bad data, which the message quotes; the database's word for it stands before.
  if (state?.startsWith('22')) return `data exception (SQLSTATE ${state})`
  if (error instanceof Error && error.name === 'PrismaClientValidationError') {
    return 'Prisma refused the arguments of a query'
  }
  return text.replace(/[^\s<>"'`(),;:=]+@[^\s<>"'`(),;:=]+/g, '[address]')
}
