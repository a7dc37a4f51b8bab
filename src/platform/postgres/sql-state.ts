/**
 * Returns the SQLSTATE of an error of the database driver or of Prisma; undefined for other errors. Codes such as P2002
 * are Prisma's own, so the SQLSTATEs of the class P0 (PL/pgSQL) are not recognized.
 */
export function sqlState(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { code, cause, meta } = error as { code?: unknown; cause?: unknown; meta?: { driverAdapterError?: unknown } }
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !/^P\d{4}$/.test(code)) return code
  const original = (cause as { originalCode?: unknown } | undefined)?.originalCode
  if (typeof original === 'string') return original
  return sqlState(meta?.driverAdapterError) ?? sqlState(cause)
}
