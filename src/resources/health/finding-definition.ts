/** What a health finding consists of, and how the tables of findings define one. */
import { limits } from '../../kernel/limits.js'
import type { DeploymentFacts } from './health-facts.js'

/** Severities, the most serious one first. */
export const severities = {
  ERROR: 'A configured feature does not work.',
  WARNING: 'A risk, or a setting without its intended effect.',
  INFO: 'Works, but may not be intended.',
} as const
export type Severity = keyof typeof severities

export interface Finding {
  code: string
  severity: Severity
  /** A sentence that describes the problem. */
  message: string
  /** A sentence that describes the fix. */
  fix: string
  /** The setting or resource, relative to the issuer or account, in REST names. */
  path: string
}

/** A row of the table. `Subject` is the value from which path, message and fix of a finding are built. */
export interface FindingDefinition<Facts, Subject> {
  severity: Severity
  /** Names of the facts that `find` uses. Each fact determines the scope that the caller needs. */
  reads: readonly (keyof Facts)[]
  /** When the finding is reported, as a clause. For the reference documentation. */
  when: string
  find(facts: Facts, deployment: DeploymentFacts): readonly Subject[]
  path(subject: NoInfer<Subject>): string
  message(subject: NoInfer<Subject>): string
  fix(subject: NoInfer<Subject>): string
  /** Subject of the example in the reference documentation. */
  example: NoInfer<Subject>
}

/** A row without its subject type. */
export interface FindingRule<Facts> {
  severity: Severity
  reads: readonly (keyof Facts)[]
  when: string
  find(facts: Facts, deployment: DeploymentFacts): Omit<Finding, 'code'>[]
  example: Omit<Finding, 'code'>
}

/** Creates the rules of a table over these facts. */
export const defineFinding =
  <Facts>() =>
  <Subject>(definition: FindingDefinition<Facts, Subject>): FindingRule<Facts> => {
    const { severity, reads, when, find, path, message, fix, example } = definition
    const toFinding = (subject: Subject) => ({
      severity,
      message: message(subject),
      fix: fix(subject),
      path: path(subject),
    })
    return {
      severity,
      reads,
      when,
      find: (facts, deployment) => find(facts, deployment).slice(0, limits.maxFindingsPerCode).map(toFinding),
      example: toFinding(example),
    }
  }
