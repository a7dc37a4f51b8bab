/** Brings a file to the server, portion by portion, and adds up what became of it. */
import type { ImportUsersInput, ImportUsersMutation } from 'documents/types'
import { Fault } from '../../../graphql/fault'
import { portionsOf } from './file'

export type Answer = ImportUsersMutation['importUsers']
export type Refusal = Answer['refusals'][number]

export interface Choices {
  source: 'any' | Answer['source']
  login: 'email' | 'phone' | 'unique'
  dropUnsupported: boolean
}

export interface Outcome extends Pick<Answer, 'read' | 'imported' | 'known' | 'withoutPassword' | 'totp' | 'weak'> {
  dryRun: boolean
  source: string
  hashes: Record<string, number>
  refusals: Refusal[]
  /** Of those that were imported: the id there and the id here. */
  ids: { externalId: string; userId: string }[]
  /** How much of the file is done, from 0 to 1. */
  share: number
}

interface Run {
  file: File
  choices: Choices
  dryRun: boolean
  send: (input: ImportUsersInput) => Promise<Answer>
  progress: (outcome: Outcome) => void
  signal: AbortSignal
}

/** Waits before a portion is sent again (seconds). */
const patience = [2, 5, 10, 20, 30]
const passing = ['NETWORK', 'UNAVAILABLE', 'TOO_MANY_REQUESTS']

/**
 * Runs to the end of the file, or until it is stopped.
 * @throws Fault that does not pass, Error in words for people about the file
 */
export async function runImport({ file, choices, dryRun, send, progress, signal }: Run): Promise<Outcome> {
  const { source, login, dropUnsupported } = choices
  const fixed = { dryRun, login, dropUnsupported, ...(source !== 'any' && { source }) }
  let outcome: Outcome = { ...nothing, dryRun, source, hashes: {}, refusals: [], ids: [] }
  const names = new Set<string>()
  let continues: string | undefined
  for await (const { records, tooLarge, share, last } of portionsOf(file)) {
    if (signal.aborted) break
    outcome = refuse(outcome, tooLarge.map(tooLargeAt))
    if (last && outcome.read === 0 && records.length === 0) {
      throw new Error('The file holds no users: neither lines of JSON, nor an array, nor an object with "users".')
    }
    const answer = await patiently(() => send({ ...fixed, records, continues, last }), signal)
    if (!answer) break
    continues = answer.continuation
    outcome = { ...added(outcome, answer, names), share }
    progress(outcome)
  }
  return outcome
}

const nothing = { read: 0, imported: 0, known: 0, withoutPassword: 0, totp: 0, weak: 0, share: 0 }

function added(before: Outcome, answer: Answer, names: Set<string>): Outcome {
  const { read, imported, known, withoutPassword, totp, weak, refusals, users } = answer
  const hashes = { ...before.hashes }
  for (const [kind, count] of Object.entries(answer.hashes)) hashes[kind] = (hashes[kind] ?? 0) + Number(count)
  // A dry run writes nothing that would tell the server of a name in another portion.
  const twice = before.dryRun ? users.filter(({ usernameHash }) => names.has(usernameHash)) : []
  for (const { usernameHash } of users) names.add(usernameHash)
  return {
    ...before,
    source: answer.source,
    read: before.read + read,
    imported: before.imported + imported - twice.length,
    known: before.known + known,
    withoutPassword: before.withoutPassword + withoutPassword,
    totp: before.totp + totp,
    weak: before.weak + weak,
    hashes,
    refusals: [...before.refusals, ...[...refusals, ...twice.map(twiceAt)].sort((a, b) => a.line - b.line)],
    ids: [...before.ids, ...users.flatMap(({ externalId, userId }) => (userId ? [{ externalId, userId }] : []))],
  }
}

const refuse = (outcome: Outcome, refusals: Refusal[]): Outcome => ({
  ...outcome,
  read: outcome.read + refusals.length,
  refusals: [...outcome.refusals, ...refusals],
})

const tooLargeAt = (line: number): Refusal => ({
  line,
  externalId: null,
  reason: 'too_large',
  message: 'The record is too large to be sent from a browser.',
  fix: 'Import it by the command: gatehouse users import.',
})

const twiceAt = ({ line, externalId }: { line: number; externalId: string }): Refusal => ({
  line,
  externalId,
  reason: 'username_taken',
  message: 'Another user in this file has this username already.',
  fix: 'Remove one of the two, or choose something else that they sign in with.',
})

/** @returns undefined when it was stopped meanwhile */
async function patiently(send: () => Promise<Answer>, signal: AbortSignal): Promise<Answer | undefined> {
  for (const wait of [...patience, undefined]) {
    try {
      return await send()
    } catch (fault) {
      if (wait === undefined || !(fault instanceof Fault) || !passing.includes(fault.code)) throw fault
      await new Promise((done) => setTimeout(done, wait * 1000))
      if (signal.aborted) return undefined
    }
  }
  return undefined
}
