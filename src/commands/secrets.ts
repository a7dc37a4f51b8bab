/**
 * `gatehouse secrets reencrypt`: the last step of a rotation of SECRET_KEY
 * (docs/production.md#changing-the-key-encryption-key).
 */
import type { Config } from '../config.js'
import type { Context } from '../platform/context.js'
import { canDecrypt, type EncryptedCount, encryptedCountSql, reencrypt } from '../platform/crypto/reencrypt.js'
import { encryptedColumns } from '../resources/encrypted-columns.js'
import { exitCodes } from './command.js'
import { print, printNotice, withDeployment } from './deployment.js'
import { progressBar } from './progress.js'

interface ReencryptionReport {
  /** The ID of the first key in SECRET_KEY, which encrypts new values. */
  key: string
  /** The IDs of keys in SECRET_KEY that are no longer needed. */
  removable: readonly string[]
  /** Number of values that this run has re-encrypted. */
  reencrypted: number
  /** Values that are still encrypted with older keys in SECRET_KEY. */
  left: readonly EncryptedCount[]
  /** Values that no key in SECRET_KEY can decrypt. */
  lost: readonly EncryptedCount[]
  /** Hosts of processes that encrypt with another key. */
  behind: readonly string[]
}

/** `gatehouse secrets reencrypt`. */
export async function reencryptSecrets(
  config: Config,
  { dryRun = false, json = false }: { dryRun?: boolean; json?: boolean },
): Promise<number> {
  return withDeployment(config, async (context) => {
    const { keyIds } = context.encryptor
    const [key = ''] = keyIds
    const countsBefore = await encryptedWithOtherKeys(context, key)
    const running = await runningProcesses(context)
    const hostsWithoutKey = running.filter(({ keys }) => !keys.includes(key)).map(({ where }) => where)
    if (hostsWithoutKey.length > 0 && !dryRun) {
      throw new Error(
        `The Gatehouse processes on ${hostsWithoutKey.join(' and ')} do not have key ${key}, the first key in SECRET_KEY, and could not decrypt values encrypted with it. Add this key to their SECRET_KEY and restart them first.`,
      )
    }
    const total = countsBefore.filter(({ key: id }) => keyIds.includes(id)).reduce((sum, { count }) => sum + count, 0)
    let reencrypted = 0
    if (!dryRun) {
      const bar = progressBar(json)
      reencrypted = await reencrypt(context, encryptedColumns, (count) =>
        bar.show(total === 0 ? 1 : Math.min(1, count / total), `${count} of ${total} re-encrypted`),
      )
      bar.end()
    }
    const countsAfter = dryRun ? countsBefore : await encryptedWithOtherKeys(context, key)
    const isDecryptable = ({ key: id, sample }: EncryptedCount) =>
      keyIds.includes(id) && canDecrypt(context.encryptor, sample)
    const left = countsAfter.filter(isDecryptable)
    const behind = (dryRun ? running : await runningProcesses(context))
      .filter(({ keys }) => keys[0] !== key)
      .map(({ where }) => where)
    const needed = new Set(left.map(({ key: id }) => id))
    const removable = behind.length > 0 ? [] : keyIds.slice(1).filter((id) => !needed.has(id))
    const report: ReencryptionReport = {
      key,
      removable,
      reencrypted,
      left,
      lost: countsAfter.filter((row) => !isDecryptable(row)),
      behind,
    }
    if (json)
      print(
        JSON.stringify({ ...report, dry_run: dryRun, left: left.map(countToJson), lost: report.lost.map(countToJson) }),
      )
    else printReport(report, dryRun, keyIds.length)
    return left.length + report.lost.length + behind.length > 0 ? exitCodes.incomplete : exitCodes.done
  })
}

const countToJson = ({ what, key, count }: EncryptedCount) => ({ what, key, count })

function printReport(
  { key, removable, reencrypted, left, lost, behind }: ReencryptionReport,
  dryRun: boolean,
  keys: number,
): void {
  const list = (rows: readonly EncryptedCount[], out = print): void => {
    for (const row of rows) out(`  ${String(row.count).padStart(9)}  ${row.key}  ${row.what}`)
  }
  if (dryRun) {
    print(
      left.length > 0 ? `Would be re-encrypted with key ${key}:` : `No value needs to be re-encrypted with key ${key}.`,
    )
  } else {
    print(`Re-encrypted ${reencrypted} values with key ${key}.`)
    if (left.length > 0)
      print('While this command ran, other processes encrypted these values with an older key; run it again:')
  }
  list(left)
  if (lost.length > 0) {
    printNotice('No key in SECRET_KEY decrypts these values; add the key that encrypted them, or replace the values:')
    list(lost, printNotice)
  }
  if (behind.length > 0)
    printNotice(
      `The Gatehouse processes on ${behind.join(' and ')} encrypt with another key. Make key ${key} the first key in their SECRET_KEY, restart them, then run this command again.`,
    )
  if (removable.length > 0 && !(dryRun && left.length > 0))
    print(
      `No stored value needs key ${removable.join(' and ')}. After 24 hours, when cookies and idempotent requests no longer use ${removable.length > 1 ? 'them' : 'it'}, remove ${removable.length > 1 ? 'them' : 'it'} from SECRET_KEY and restart.`,
    )
  else if (keys === 1 && left.length + lost.length === 0) print('SECRET_KEY contains no older key.')
}

/** Returns the number of values that are not encrypted with `key`, by column and key. */
async function encryptedWithOtherKeys({ database }: Context, key: string): Promise<EncryptedCount[]> {
  const rows = await database.query<EncryptedCount & Record<string, unknown>>(
    '',
    encryptedCountSql(encryptedColumns),
    [],
  )
  return rows.filter((row) => row.key !== key)
}

const runningText = `
  SELECT DISTINCT substring(application_name FROM '^gatehouse keys ([0-9a-f,]+)') AS keys,
    coalesce(host(client_addr), 'this machine') AS where
  FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'gatehouse keys %'`

/**
 * Returns the hosts and key IDs of running processes. Each process has its key IDs in the application name of its
 * database connections (server/root-context.ts).
 */
async function runningProcesses({ database }: Context): Promise<{ keys: string[]; where: string }[]> {
  const rows = await database.query<{ keys: string; where: string }>('', runningText, [])
  return rows.map(({ keys, where }) => ({ keys: keys.split(','), where }))
}
