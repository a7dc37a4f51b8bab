/** Sends the records of a file to the server in batches and adds up the results. */
import type { ImportUsersInput, ImportUsersMutation } from 'documents/types'
import { RequestError } from '../../../graphql/request-error'
import { readBatches } from './import-batches'

export type ImportResponse = ImportUsersMutation['importUsers']
export type Refusal = ImportResponse['refusals'][number]

export interface ImportOptions {
  source: 'any' | ImportResponse['source']
  login: 'email' | 'phone' | 'unique'
  dropUnsupported: boolean
}

export interface ImportResult
  extends Pick<ImportResponse, 'read' | 'imported' | 'known' | 'withoutPassword' | 'totp' | 'weak'> {
  dryRun: boolean
  source: string
  hashes: Record<string, number>
  refusals: Refusal[]
  /** External id and user id of each imported user. */
  ids: { externalId: string; userId: string }[]
  /** Fraction of the file that has been processed, from 0 to 1. */
  fractionRead: number
}

interface ImportParams {
  file: File
  options: ImportOptions
  dryRun: boolean
  sendBatch: (input: ImportUsersInput) => Promise<ImportResponse>
  onProgress: (result: ImportResult) => void
  signal: AbortSignal
}

/** Delays before a batch is sent again (seconds). */
const RETRY_DELAYS_SECONDS = [2, 5, 10, 20, 30]
const RETRYABLE_CODES = ['NETWORK', 'UNAVAILABLE', 'TOO_MANY_REQUESTS']

/**
 * Runs an import or a dry run until the end of the file, or until `signal` is aborted.
 * @throws RequestError that a retry does not resolve; Error with a message for the user about the file
 */
export async function runImport({
  file,
  options,
  dryRun,
  sendBatch,
  onProgress,
  signal,
}: ImportParams): Promise<ImportResult> {
  const { source, login, dropUnsupported } = options
  const commonInput = { dryRun, login, dropUnsupported, ...(source !== 'any' && { source }) }
  let result: ImportResult = { ...EMPTY_RESULT, dryRun, source, hashes: {}, refusals: [], ids: [] }
  const usernameHashes = new Set<string>()
  let continues: string | undefined
  for await (const { records, tooLarge, fractionRead, last } of readBatches(file)) {
    if (signal.aborted) break
    result = addRefusals(result, tooLarge.map(tooLargeRefusal))
    if (last && result.read === 0 && records.length === 0) {
      throw new Error(
        'The file contains no users. Choose a file with NDJSON, a JSON array, or a JSON object with "users".',
      )
    }
    const response = await sendWithRetry(() => sendBatch({ ...commonInput, records, continues, last }), signal)
    if (!response) break
    continues = response.continuation
    result = { ...addResponse(result, response, usernameHashes), fractionRead }
    onProgress(result)
  }
  return result
}

const EMPTY_RESULT = { read: 0, imported: 0, known: 0, withoutPassword: 0, totp: 0, weak: 0, fractionRead: 0 }

function addResponse(before: ImportResult, response: ImportResponse, usernameHashes: Set<string>): ImportResult {
  const { read, imported, known, withoutPassword, totp, weak, refusals, users } = response
  const hashes = { ...before.hashes }
  for (const [kind, count] of Object.entries(response.hashes)) hashes[kind] = (hashes[kind] ?? 0) + Number(count)
  // A dry run writes nothing, so the server cannot detect a username that occurs in two batches.
  const duplicates = before.dryRun ? users.filter(({ usernameHash }) => usernameHashes.has(usernameHash)) : []
  for (const { usernameHash } of users) usernameHashes.add(usernameHash)
  return {
    ...before,
    source: response.source,
    read: before.read + read,
    imported: before.imported + imported - duplicates.length,
    known: before.known + known,
    withoutPassword: before.withoutPassword + withoutPassword,
    totp: before.totp + totp,
    weak: before.weak + weak,
    hashes,
    refusals: [
      ...before.refusals,
      ...[...refusals, ...duplicates.map(duplicateRefusal)].sort((a, b) => a.line - b.line),
    ],
    ids: [...before.ids, ...users.flatMap(({ externalId, userId }) => (userId ? [{ externalId, userId }] : []))],
  }
}

const addRefusals = (result: ImportResult, refusals: Refusal[]): ImportResult => ({
  ...result,
  read: result.read + refusals.length,
  refusals: [...result.refusals, ...refusals],
})

const tooLargeRefusal = (line: number): Refusal => ({
  line,
  externalId: null,
  reason: 'too_large',
  message: 'The record is too large for an import in the browser.',
  fix: 'Import this file with the command gatehouse users import.',
})

const duplicateRefusal = ({ line, externalId }: { line: number; externalId: string }): Refusal => ({
  line,
  externalId,
  reason: 'username_taken',
  message: 'Another user in this file has this username already.',
  fix: 'Remove one of the two users from the file, or choose another identifier type.',
})

/** Sends a batch and retries temporary errors. @returns undefined if the import was stopped during a delay */
async function sendWithRetry(
  send: () => Promise<ImportResponse>,
  signal: AbortSignal,
): Promise<ImportResponse | undefined> {
  for (const wait of [...RETRY_DELAYS_SECONDS, undefined]) {
    try {
      return await send()
    } catch (error) {
      if (wait === undefined || !(error instanceof RequestError) || !RETRYABLE_CODES.includes(error.code)) throw error
      await new Promise((done) => setTimeout(done, wait * 1000))
      if (signal.aborted) return undefined
    }
  }
  return undefined
}
