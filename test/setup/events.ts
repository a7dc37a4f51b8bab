/** The audit trail as the database has it, oldest first. */
import type { Loose } from './api.js'
import type { TestApp } from './start-app.js'

export interface Told {
  type: string
  target: { type: string; id: string }
  data: Loose
  changes: Loose
  issuerId: string | null
  userId: string | null
  orgId: string | null
  sessionId: string | null
  clientId: string | null
  agentId: string | null
  authType: string
  actor: Loose
}

/** Marks a moment in an account's trail; the answer gives the events since then, of the given beginnings. */
export async function listenTo(app: TestApp, accountId: string): Promise<(...begins: string[]) => Promise<Told[]>> {
  const read = (after: string) =>
    app.gatehouse.tools.prisma.event.findMany({ where: { accountId, id: { gt: after } }, orderBy: { id: 'asc' } })
  const from = (await read('')).at(-1)?.id ?? ''
  return async (...begins) => {
    const plain = (_: string, value: unknown) => (typeof value === 'bigint' ? Number(value) : value)
    const rows = JSON.parse(JSON.stringify(await read(from), plain)) as Told[]
    return rows.filter(({ type }) => begins.length === 0 || begins.some((begin) => type.startsWith(begin)))
  }
}
