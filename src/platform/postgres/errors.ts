/** Classifies errors of Prisma and of the database driver. */
import { ApiError, unavailable } from '../../kernel/errors.js'
import { Prisma } from './prisma/client.js'
import { sqlState } from './sql-state.js'

const prismaCode = (error: unknown): string | undefined =>
  error instanceof Prisma.PrismaClientKnownRequestError ? error.code : undefined

/** Returns true for a serialization failure or a deadlock, after which the transaction can be repeated. */
export const isRetryable = (error: unknown): boolean =>
  prismaCode(error) === 'P2034' || ['40001', '40P01'].includes(sqlState(error) ?? '')

/** Returns true when a write violated a unique index. Callers convert the error to a conflict error. */
export const isDuplicate = (error: unknown): boolean => prismaCode(error) === 'P2002' || sqlState(error) === '23505'

/** Returns true when the database is unreachable or too busy, for which the status of a response is 503, not 500. */
export function isUnavailable(error: unknown): boolean {
  const state = sqlState(error) ?? ''
  if (/^(08|53|57P|57014|55P03)/.test(state)) return true
  // TransactionConnection throws 'unavailable' after the end of its transaction.
  const codes = ['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028', 'unavailable']
  if (codes.includes(prismaCode(error) ?? '')) return true
  const { code = '', message = '' } = (error ?? {}) as { code?: unknown; message?: unknown }
  const text = `${code} ${message}`
  return /ECONNREFUSED|ECONNRESET|ENOENT.*\.s\.PGSQL|EPIPE|ETIMEDOUT|Connection terminated|is not queryable|not currently accepting connections|timeout exceeded when trying to connect|Can't reach database|DatabaseNotReachable|ConnectionClosed/i.test(
    text,
  )
}

/** Throws the result of `translateDatabaseError`. */
export function throwTranslated(error: unknown): never {
  throw translateDatabaseError(error)
}

/** Converts an error because of a database outage to the ApiError `unavailable`. Returns other errors unchanged. */
export function translateDatabaseError(error: unknown): unknown {
  if (error instanceof ApiError || !isUnavailable(error)) return error
  return unavailable()
}
