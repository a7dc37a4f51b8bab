/**
 * Checks the responses of Gatehouse while the database is killed, stopped and frozen, and that no acknowledged change
 * is lost. The long form of test/stories/database-outage.test.ts.
 */
import { type Outage, runOutageScenario } from '../test/setup/outage-scenario.js'

/** The outages of one round. The numbers are durations in milliseconds. */
const round: readonly Outage[] = ['killed', 'crashed', { stopped: 10_000 }, 'crashed', 'killed', { frozen: 10_000 }]

/** @param options the number of rounds (5), and the number of acknowledged changes between two outages (300) */
export async function bench([rounds = '5', between = '300']: string[]): Promise<Record<string, unknown>[]> {
  // The last outage is longer than any request may wait.
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
