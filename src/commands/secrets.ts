/** `gatehouse secrets reseal`: the end of a change of SECRET_KEY (docs/production.md). */
import type { Config } from '../config.js'
import type { Context } from '../platform/context.js'
import { opens, reseal, type SealedCount, sealedCountText } from '../platform/reseal.js'
import { sealedPlaces } from '../sealed.js'
import { exitCodes } from './command.js'
import { inDeployment, note, say } from './deployment.js'
import { progressBar } from './progress.js'

interface Answer {
  /** The key that seals. */
  key: string
  /** Keys of the list that nothing needs any more. */
  removable: readonly string[]
  resealed: number
  /** What lies under older keys still. */
  left: readonly SealedCount[]
  /** What no key of the list opens. */
  lost: readonly SealedCount[]
  /** Processes that seal with an older key. */
  behind: readonly string[]
}

/** `gatehouse secrets reseal`. */
export async function resealSecrets(
  config: Config,
  { dryRun = false, json = false }: { dryRun?: boolean; json?: boolean },
): Promise<number> {
  return inDeployment(config, async (context) => {
    const { keyIds } = context.sealer
    const [key = ''] = keyIds
    const before = await sealedByOthers(context, key)
    const running = await runningProcesses(context)
    const blind = running.filter(({ keys }) => !keys.includes(key)).map(({ where }) => where)
    if (blind.length > 0 && !dryRun) {
      throw new Error(
        `A Gatehouse that runs at ${blind.join(' and ')} does not know key ${key}, the first of SECRET_KEY, and could not open what is sealed with it: restart it with this key in its SECRET_KEY first.`,
      )
    }
    const total = before.filter(({ key: id }) => keyIds.includes(id)).reduce((sum, { count }) => sum + count, 0)
    let resealed = 0
    if (!dryRun) {
      const bar = progressBar(json)
      resealed = await reseal(context, sealedPlaces, (count) =>
        bar.show(total === 0 ? 1 : Math.min(1, count / total), `${count} of ${total} sealed anew`),
      )
      bar.end()
    }
    const after = dryRun ? before : await sealedByOthers(context, key)
    const openable = (one: SealedCount) => keyIds.includes(one.key) && opens(context.sealer, one.sample)
    const left = after.filter(openable)
    const behind = (dryRun ? running : await runningProcesses(context))
      .filter(({ keys }) => keys[0] !== key)
      .map(({ where }) => where)
    const needed = new Set(left.map(({ key: id }) => id))
    const removable = behind.length > 0 ? [] : keyIds.slice(1).filter((id) => !needed.has(id))
    const answer: Answer = { key, removable, resealed, left, lost: after.filter((one) => !openable(one)), behind }
    if (json) say(JSON.stringify({ ...answer, dry_run: dryRun, left: left.map(plain), lost: answer.lost.map(plain) }))
    else tell(answer, dryRun, keyIds.length)
    return left.length + answer.lost.length + behind.length > 0 ? exitCodes.remains : exitCodes.done
  })
}

const plain = ({ what, key, count }: SealedCount) => ({ what, key, count })

function tell({ key, removable, resealed, left, lost, behind }: Answer, dryRun: boolean, keys: number): void {
  const list = (rows: readonly SealedCount[], out = say): void => {
    for (const row of rows) out(`  ${String(row.count).padStart(9)}  ${row.key}  ${row.what}`)
  }
  if (dryRun) {
    say(left.length > 0 ? `Would be sealed anew with key ${key}:` : `Nothing is sealed with an older key than ${key}.`)
  } else {
    say(`${resealed} sealed anew with key ${key}.`)
    if (left.length > 0) say('Meanwhile something was sealed with an older key; run this again:')
  }
  list(left)
  if (lost.length > 0) {
    note('No key in SECRET_KEY opens these; add the one that they were sealed with, or make them anew:')
    list(lost, note)
  }
  if (behind.length > 0)
    note(
      `A Gatehouse that runs at ${behind.join(' and ')} still seals with an older key: restart it with key ${key} first in SECRET_KEY, then run this again.`,
    )
  if (removable.length > 0 && !(dryRun && left.length > 0))
    say(
      `Nothing needs key ${removable.join(' and ')} any more: take ${removable.length > 1 ? 'them' : 'it'} out of SECRET_KEY after 24 hours, so that browsers and repeated requests have moved on too, and restart.`,
    )
  else if (keys === 1 && left.length + lost.length === 0) say('SECRET_KEY holds no older key.')
}

/** What lies sealed with other keys than this one, by place and key. */
async function sealedByOthers({ tools }: Context, key: string): Promise<SealedCount[]> {
  const rows = await tools.query<SealedCount & Record<string, unknown>>('', sealedCountText(sealedPlaces), [])
  return rows.filter((row) => row.key !== key)
}

const runningText = `
  SELECT DISTINCT substring(application_name FROM '^gatehouse keys ([0-9a-f,]+)') AS keys,
    coalesce(host(client_addr), 'this machine') AS where
  FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'gatehouse keys %'`

/** Who is connected, with which keys: connections say so by their name, see gatehouse.ts. */
async function runningProcesses({ tools }: Context): Promise<{ keys: string[]; where: string }[]> {
  const rows = await tools.query<{ keys: string; where: string }>('', runningText, [])
  return rows.map(({ keys, where }) => ({ keys: keys.split(','), where }))
}
