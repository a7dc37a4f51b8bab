/** What health finds, and what a row of its table says. */
import type { Deployment } from './facts.js'

/** The most serious one first. */
export const severities = {
  ERROR: 'Something that is configured does not work.',
  WARNING: 'A risk, or a setting that does not do what it says.',
  INFO: 'Works, and may not be what was intended.',
} as const
export type Severity = keyof typeof severities

export interface Finding {
  code: string
  severity: Severity
  /** What is wrong, in a sentence. */
  message: string
  /** What to do about it, in a sentence. */
  fix: string
  /** The setting or object that it is about, relative to the issuer or account, in the names of `/v1`. */
  path: string
}

/** At most this many findings of one code for one issuer or account. */
export const MAX_OF_A_CODE = 25

/** A row of the table, with what each of its findings is about. */
export interface RowOf<Facts, Subject> {
  severity: Severity
  /** The facts that it is found in, by name; each names the scope that its readers need. */
  reads: readonly (keyof Facts)[]
  /** For the reference: when it is reported, as a clause. */
  when: string
  find(facts: Facts, deployment: Deployment): readonly Subject[]
  path(subject: NoInfer<Subject>): string
  message(subject: NoInfer<Subject>): string
  fix(subject: NoInfer<Subject>): string
  /** For the reference. */
  example: NoInfer<Subject>
}

/** A row as its readers see it. */
export interface FindingRow<Facts> {
  severity: Severity
  reads: readonly (keyof Facts)[]
  when: string
  find(facts: Facts, deployment: Deployment): Omit<Finding, 'code'>[]
  example: Omit<Finding, 'code'>
}

/** Makes rows that are found in these facts: the sentences are functions of what is found. */
export const findingRow =
  <Facts>() =>
  <Subject>(given: RowOf<Facts, Subject>): FindingRow<Facts> => {
    const { severity, reads, when, find, path, message, fix, example } = given
    const of = (subject: Subject) => ({ severity, message: message(subject), fix: fix(subject), path: path(subject) })
    return {
      severity,
      reads,
      when,
      find: (facts, deployment) => find(facts, deployment).slice(0, MAX_OF_A_CODE).map(of),
      example: of(example),
    }
  }
