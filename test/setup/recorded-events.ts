/** Reads events of the audit log from the database. */
import type { AnyJson } from './api.js'
import type { TestApp } from './start-app.js'

export interface RecordedEvent {
  type: string
  target: { type: string; id: string }
  data: AnyJson
  changes: AnyJson
  issuerId: string | null
  userId: string | null
  orgId: string | null
  sessionId: string | null
  clientId: string | null
  agentId: string | null
  authType: string
  actor: AnyJson
}

/**
 * Returns a function that reads the events that an account has recorded since this call, oldest first. If the function
 * is called with prefixes, it returns only events whose type begins with one of the prefixes.
 */
export async function eventsRecordedFromNow(
  app: TestApp,
  accountId: string,
): Promise<(...typePrefixes: string[]) => Promise<RecordedEvent[]>> {
  const read = (after: string) =>
    app.gatehouse.database.prisma.event.findMany({ where: { accountId, id: { gt: after } }, orderBy: { id: 'asc' } })
  const lastSeenId = (await read('')).at(-1)?.id ?? ''
  return async (...typePrefixes) => {
    const bigintsAsNumbers = (_: string, value: unknown) => (typeof value === 'bigint' ? Number(value) : value)
    const rows = JSON.parse(JSON.stringify(await read(lastSeenId), bigintsAsNumbers)) as RecordedEvent[]
    return rows.filter(
      ({ type }) => typePrefixes.length === 0 || typePrefixes.some((prefix) => type.startsWith(prefix)),
    )
  }
}
