/** Types of health findings, and of the rules by which the tables of findings define them. */
import { limits } from '../../kernel/limits.js'
import type { DeploymentFacts } from './health-facts.js'

/** Severities, the most serious one first. */
export const severities = {
  ERROR: 'A configured feature does not work.',
  WARNING: 'A risk, or a setting without its intended effect.',
  INFO: 'A configuration that works, but may not be intended.',
} as const
export type Severity = keyof typeof severities

export interface Finding {
  code: string
  severity: Severity
  /** A sentence that describes the problem. */
  message: string
  /** A sentence that describes the fix. */
  fix: string
  /** The setting or resource with the problem, relative to the issuer or account, in REST names. */
  path: string
}

/** A row of a table of findings. `Subject` is the type of the value from which path, message and fix are built. */
export interface FindingDefinition<Facts, Subject> {
  severity: Severity
  /** Names of the facts that `find` uses, except `settings`. The caller needs the scopes of these facts. */
  reads: readonly (keyof Facts)[]
  /** When the finding is reported, as a clause for the reference documentation. */
  when: string
  /** Returns one subject for each finding; none if there is no problem. */
  find(facts: Facts, deployment: DeploymentFacts): readonly Subject[]
  path(subject: NoInfer<Subject>): string
  message(subject: NoInfer<Subject>): string
  fix(subject: NoInfer<Subject>): string
  /** The subject of the example in the reference documentation. */
  example: NoInfer<Subject>
}

/** A row whose `find` returns findings without the code, so that rows with different subjects have the same type. */
export interface FindingRule<Facts> {
  severity: Severity
  reads: readonly (keyof Facts)[]
  when: string
  find(facts: Facts, deployment: DeploymentFacts): Omit<Finding, 'code'>[]
  example: Omit<Finding, 'code'>
}

/** Returns a function that converts the definitions of a table with these facts to rules. */
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
