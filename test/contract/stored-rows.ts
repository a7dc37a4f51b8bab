/** Reads what an operation stored besides its response. */
import type { Event } from '../../src/platform/postgres/database.js'
import type { TestApp } from '../setup/start-app.js'

/** The events about one resource, oldest first. */
export const eventsOfTarget = (app: TestApp, targetId: string): Promise<Event[]> =>
  app.gatehouse.database.prisma.event.findMany({
    where: { target: { path: ['id'], equals: targetId } },
    orderBy: { id: 'asc' },
  })

/** Rows as one text, to search for values that must not be stored. */
export const rowsAsText = (rows: unknown): string =>
  JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? Number(value) : value))

/** Everything in the idempotency store, as one text. */
export const storedIdempotentResponses = async (app: TestApp): Promise<string> =>
  rowsAsText(await app.gatehouse.database.prisma.idempotentRequest.findMany())
