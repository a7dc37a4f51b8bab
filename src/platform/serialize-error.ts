/**
 * Serializes errors for logs and failed jobs without row values and mail addresses. PostgreSQL includes values in
 * `detail` and `where`, and for class 22 errors in the message; Prisma and mail servers quote their input.
 */
import { limits } from '../kernel/limits.js'
import { sqlState } from './postgres/sql-state.js'

export interface SerializedError {
  type: string
  message: string
  stack: string
  cause?: SerializedError
  [fact: string]: unknown
}

/** Properties without values, of errors of the database driver, the mail library, Node.js and this product. */
const safeProperties = [
  'constraint',
  'table',
  'column',
  'routine',
  'syscall',
  'responseCode',
  'command',
  'reason',
  'status',
]

/** Converts an error for the log. */
export function serializeError(error: unknown, depth = limits.maxErrorCauseDepth): SerializedError {
  if (!(error instanceof Error)) return { type: typeof error, message: safeErrorMessage(error), stack: '' }
  const properties = error as unknown as Record<string, unknown>
  const stack = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  const { cause } = error
  return {
    type: error.name,
    message: safeErrorMessage(error),
    ...Object.fromEntries(
      safeProperties.flatMap((name) => (isScalar(properties[name]) ? [[name, properties[name]]] : [])),
    ),
    // Not named `code`, because the log redacts that key.
    ...(isScalar(properties['code']) && { error_code: properties['code'] }),
    ...(sqlState(error) !== undefined && { sqlstate: sqlState(error) }),
    stack: stack.join('\n'),
    ...(cause instanceof Error && depth > 0 && { cause: serializeError(cause, depth - 1) }),
  }
}

const isScalar = (value: unknown): boolean => typeof value === 'string' || typeof value === 'number'

/** Returns the message of an error without values. */
export function safeErrorMessage(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error)
  const state = sqlState(error)
  // Messages of class 22 (data exception) quote the value.
  if (state?.startsWith('22')) return `data exception (SQLSTATE ${state})`
  if (error instanceof Error && error.name === 'PrismaClientValidationError') {
    return 'Prisma refused the arguments of a query'
  }
  return text.replace(/[^\s<>"'`(),;:=]+@[^\s<>"'`(),;:=]+/g, '[address]')
}
