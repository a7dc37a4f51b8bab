/**
 * Checks what clients see while the database is killed, stopped and frozen, and that no acknowledged change is lost:
 * the long form of test/stories.
 */
import { type Outage, runOutageScenario } from '../test/setup/outage-scenario.js'

/** One round. `frozen` is longer than any request may wait. */
const round: readonly Outage[] = ['killed', 'crashed', { stopped: 10_000 }, 'crashed', 'killed', { frozen: 10_000 }]

/** @param options number of rounds (5) and of acknowledged changes between two outages (300) */
export async function bench([rounds = '5', between = '300']: string[]): Promise<Record<string, unknown>[]> {
  const outages = [...Array(Number(rounds)).fill(round).flat(), { frozen: 40_000 }]
  const { responses, statuses, unanswered, lost, withoutEvent, neverAccepted, ended, ...rest } =
    await runOutageScenario(outages, Number(between))
  const figures = {
    outages: outages.length,
    ...rest,
    ...Object.fromEntries(Object.entries(responses).map(([status, count]) => [`answers ${status}`, count])),
    'unanswered requests': unanswered.length,
    'acknowledged and lost': lost.length,
    'changes without event': withoutEvent.length,
    'events never accepted': neverAccepted.length,
    'processes that ended': ended.length,
    ...statuses,
  }
  return Object.entries(figures).map(([figure, value]) => ({ figure, value }))
}
