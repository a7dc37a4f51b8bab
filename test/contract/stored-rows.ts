/** Reads the rows that an operation has stored. */
import type { Event } from '../../src/platform/postgres/database.js'
import type { TestApp } from '../setup/start-app.js'

/** Returns the events whose target is this resource, oldest first. */
export const eventsOfTarget = (app: TestApp, targetId: string): Promise<Event[]> =>
  app.gatehouse.database.prisma.event.findMany({
    where: { target: { path: ['id'], equals: targetId } },
    orderBy: { id: 'asc' },
  })

/** Returns rows as one JSON text, which a test can search for values that must not be stored. */
export const rowsAsText = (rows: unknown): string =>
  JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? Number(value) : value))

/** Returns all idempotency records as one JSON text. */
export const storedIdempotentResponses = async (app: TestApp): Promise<string> =>
  rowsAsText(await app.gatehouse.database.prisma.idempotentRequest.findMany())
