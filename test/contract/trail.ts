/** What an operation leaves behind besides its answer. */
import type { Event } from '../../src/platform/database.js'
import type { TestApp } from '../setup/start-app.js'

/** The events about one thing, oldest first. */
export const eventsOf = (app: TestApp, targetId: string): Promise<Event[]> =>
  app.gatehouse.tools.prisma.event.findMany({
    where: { target: { path: ['id'], equals: targetId } },
    orderBy: { id: 'asc' },
  })

/** Rows as one text, to look for what must not stand in it. */
export const textOf = (rows: unknown): string =>
  JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? Number(value) : value))

/** Everything that the idempotency store keeps, as one text. */
export const storedAnswers = async (app: TestApp): Promise<string> =>
  textOf(await app.gatehouse.tools.prisma.idempotentRequest.findMany())
