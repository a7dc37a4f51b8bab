import { ObjectType } from 'type-graphql'
import { enumType, Property } from '../declaration.js'
import { type Finding, type Severity, severities } from './finding-definition.js'
import { type FindingCode, findings } from './findings.js'

/** Turns a clause into a sentence. */
const sentence = (clause: string): string => `${clause[0]!.toUpperCase()}${clause.slice(1)}.`
const conditions = Object.entries(findings).map(([code, { when }]) => [code, sentence(when)])

const HealthSeverity = enumType('HealthSeverity', 'The severity of a finding.', severities)
const HealthCode = enumType(
  'HealthCode',
  'The kind of a finding. `docs/reference/health.md` lists all kinds with examples.',
  Object.fromEntries(conditions) as Record<FindingCode, string>,
)

@ObjectType({ description: 'A configuration problem, or a configuration that may not be intended.' })
export class HealthFinding implements Finding {
  @Property(() => HealthCode, { description: 'The kind of the finding.' })
  code!: FindingCode
  @Property(() => HealthSeverity, { description: 'The severity of the finding.' })
  severity!: Severity
  @Property(() => String, { description: 'A sentence that describes the problem.' })
  message!: string
  @Property(() => String, { description: 'A sentence that describes how to fix the problem.' })
  fix!: string
  @Property(() => String, {
    description:
      'The setting or resource with the problem, relative to the issuer or account, in REST names, such as `settings.security.mfa_required` or `auth_methods/{id}`.',
    example: 'settings.security.mfa_required',
  })
  path!: string
}
