/**
 * Serializes errors for logs and failed jobs without row values and email addresses. Errors of PostgreSQL contain row
 * values in `detail` and `where`, and in the message if the SQLSTATE is of class 22 (data exception). Error messages of
 * Prisma and of mail servers quote their input.
 */
import { limits } from '../kernel/limits.js'
import { sqlState } from './postgres/sql-state.js'

export interface SerializedError {
  type: string
  message: string
  stack: string
  cause?: SerializedError
  [property: string]: unknown
}

/** Properties of errors that never contain row values or addresses. */
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

/**
 * Converts an error to an object for the log.
 * @param depth the number of causes to include
 */
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
    // The key is not `code`, because the log redacts that key.
    ...(isScalar(properties['code']) && { error_code: properties['code'] }),
    ...(sqlState(error) !== undefined && { sqlstate: sqlState(error) }),
    stack: stack.join('\n'),
    ...(cause instanceof Error && depth > 0 && { cause: serializeError(cause, depth - 1) }),
  }
}

const isScalar = (value: unknown): boolean => typeof value === 'string' || typeof value === 'number'

/** Returns the message of an error without row values and email addresses. */
export function safeErrorMessage(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error)
  const state = sqlState(error)
  if (state?.startsWith('22')) return `data exception (SQLSTATE ${state})`
  if (error instanceof Error && error.name === 'PrismaClientValidationError') {
    return 'Prisma refused the arguments of a query'
  }
  return text.replace(/[^\s<>"'`(),;:=]+@[^\s<>"'`(),;:=]+/g, '[address]')
}
