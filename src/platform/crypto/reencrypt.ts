/**
 * Re-encrypts stored secrets with the current key after a rotation of SECRET_KEY, in small batches. An UPDATE changes a
 * value only if it is still the ciphertext that was read, so concurrent changes of the row are kept and several runs in
 * parallel are safe. A run after an interrupted one re-encrypts the values that are left.
 */
import { limits } from '../../kernel/limits.js'
import type { Context } from '../context.js'
import { transaction } from '../postgres/transaction.js'
import type { Encryptor } from './secrets.js'

/** A column, or a string inside a JSON column, that contains output of `Encryptor.encrypt`. */
export interface EncryptedColumn {
  /** A plural noun for the output of commands, such as "webhook secrets". */
  readonly label: string
  readonly table: string
  /** The columns of the primary key with their types, in the order of the key. */
  readonly key: Readonly<Record<string, 'text' | 'uuid'>>
  readonly column: string
  /** The path of the string inside a JSON column; undefined for a text column. */
  readonly path?: readonly string[]
}

/** The number of values in one column that are encrypted with one key. */
export interface EncryptedCount {
  /** The `label` of the column. */
  what: string
  /** The ID of the key; see `Encryptor.keyIds`. */
  key: string
  count: number
  /** One of the ciphertexts, for a test whether the key can decrypt it. */
  sample: string
}

const ciphertextSql = ({ column, path }: EncryptedColumn): string =>
  path ? `${column} #>> '{${path.join(',')}}'` : column

/** Returns the statement that counts encrypted values by column and key. */
export const encryptedCountSql = (columns: readonly EncryptedColumn[]): string =>
  columns
    .map(
      (column) => `
  SELECT '${column.label}' AS what, split_part(${ciphertextSql(column)}, '.', 1) AS key, count(*)::int AS count,
    min(${ciphertextSql(column)}) AS sample
  FROM ${column.table} WHERE ${ciphertextSql(column)} LIKE '________.%' GROUP BY 2`,
    )
    .join(' UNION ALL ')

/**
 * Re-encrypts every value that an older configured key can decrypt. Does not change values that no configured key can
 * decrypt. Repeats the pass over all columns until a pass finds nothing to re-encrypt, at most
 * `limits.maxReencryptionPasses` times, because processes that still run with an older key may write values during a
 * pass.
 * @param progress receives the number of values that were re-encrypted so far
 * @returns the number of values that were re-encrypted
 */
export async function reencrypt(
  context: Context,
  columns: readonly EncryptedColumn[],
  progress: (reencrypted: number) => void,
): Promise<number> {
  let reencrypted = 0
  for (let pass = 0; pass < limits.maxReencryptionPasses; pass++) {
    const before = reencrypted
    for (const column of columns) {
      for await (const reencryptedInBatch of reencryptBatches(context, column)) {
        reencrypted += reencryptedInBatch
        progress(reencrypted)
      }
    }
    if (reencrypted === before) break
  }
  return reencrypted
}

/** Makes one pass over a column and yields the number of values that were re-encrypted in each batch. */
async function* reencryptBatches(context: Context, encryptedColumn: EncryptedColumn): AsyncGenerator<number> {
  const { table, key } = encryptedColumn
  const [current] = context.encryptor.keyIds
  const columns = Object.keys(key)
  const [keyColumnsSql, ciphertext] = [columns.join(', '), ciphertextSql(encryptedColumn)]
  const batchSql = (after: string): string => `
    SELECT ${columns.map((column) => `${column}::text`).join(', ')}, ${ciphertext} AS ciphertext FROM ${table}
    WHERE ${ciphertext} LIKE '________.%' AND split_part(${ciphertext}, '.', 1) <> $1 ${after} ORDER BY ${keyColumnsSql} LIMIT ${limits.reencryptionBatchSize}`
  const afterCursorSql = `AND (${keyColumnsSql}) > (${columns.map((column, at) => `$${at + 2}::${key[column]}`).join(', ')})`
  for (let cursor: string[] = []; ; ) {
    const values = [current, ...cursor]
    const rows = await context.database.query<Record<string, string>>(
      '',
      batchSql(cursor.length ? afterCursorSql : ''),
      values,
    )
    const updates = rows.flatMap((found) => {
      const newCiphertext = reencryptText(context, found['ciphertext']!)
      return newCiphertext === undefined
        ? []
        : [[...columns.map((column) => found[column]!), found['ciphertext']!, newCiphertext]]
    })
    yield await updateBatch(context, encryptedColumn, updates)
    const last = rows.at(-1)
    if (!last || rows.length < limits.reencryptionBatchSize) return
    cursor = columns.map((column) => last[column]!)
  }
}

/** @param rows for each row the values of the primary key, the old ciphertext and the new ciphertext */
async function updateBatch(context: Context, encryptedColumn: EncryptedColumn, rows: string[][]): Promise<number> {
  if (rows.length === 0) return 0
  const { table, key, column, path } = encryptedColumn
  const columns = Object.keys(key)
  const arrays = [...Object.values(key), 'text', 'text'].map((type, at) => `$${at + 1}::${type}[]`).join(', ')
  const newValueSql = path
    ? `jsonb_set(${column}, '{${path.join(',')}}', to_jsonb(fresh.fresh_text))`
    : 'fresh.fresh_text'
  const text = `
    UPDATE ${table} SET ${column} = ${newValueSql}
    FROM unnest(${arrays}) AS fresh(${columns.map((name) => `fresh_${name}`).join(', ')}, old_text, fresh_text)
    WHERE ${columns.map((name) => `${name} = fresh_${name}`).join(' AND ')} AND ${ciphertextSql(encryptedColumn)} = old_text RETURNING 1`
  const values = [...columns, 'old', 'fresh'].map((_, at) => rows.map((row) => row[at]))
  // In a transaction, because `transaction` repeats the statement after a deadlock.
  return transaction(context, async (tx) => (await tx.query('', text, values)).length)
}

function reencryptText({ encryptor }: Context, ciphertext: string): string | undefined {
  try {
    return encryptor.encrypt(encryptor.decrypt(ciphertext))
  } catch {
    return undefined
  }
}

/** Returns true when a configured key can decrypt the ciphertext. */
export function canDecrypt(encryptor: Pick<Encryptor, 'decrypt'>, ciphertext: string): boolean {
  try {
    encryptor.decrypt(ciphertext)
    return true
  } catch {
    return false
  }
}
