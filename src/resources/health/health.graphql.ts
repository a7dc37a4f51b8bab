import { Ctx, ObjectType, Resolver, Root } from 'type-graphql'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import type { Account as AccountRow, Issuer as IssuerRow } from '../../platform/postgres/database.js'
import { Account } from '../accounts/account.js'
import { enumType, Property } from '../declaration.js'
import { Relation, Scope } from '../graphql-types.js'
import { Issuer } from '../issuers/issuer.js'
import { type Finding, type Severity, severities } from './finding-definition.js'
import { type FindingCode, findings } from './findings.js'
import { healthOfAccount, healthOfIssuer } from './health.js'

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
class HealthFinding implements Finding {
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

const healthDescription = (subject: string): string =>
  `Configuration problems of ${subject}, errors first, at most ${limits.maxFindingsPerCode} per code. Findings based on data that the caller must not read are omitted. The field counts as 500 rows for the cost limit.`

@Resolver(() => Issuer)
export class IssuerHealthResolver {
  @Relation(() => [HealthFinding], healthDescription('the issuer'))
  @Scope('issuers', 'read')
  health(@Ctx() context: Context, @Root() issuer: IssuerRow): Promise<Finding[]> {
    return healthOfIssuer(context, issuer)
  }
}

@Resolver(() => Account)
export class AccountHealthResolver {
  @Relation(() => [HealthFinding], healthDescription('the account, without those of its issuers'))
  @Scope('accounts', 'read')
  health(@Ctx() context: Context, @Root() account: AccountRow): Promise<Finding[]> {
    return healthOfAccount(context, account)
  }
}
