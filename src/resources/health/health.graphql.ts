import { Ctx, Field, FieldResolver, ObjectType, Resolver, Root, registerEnumType } from 'type-graphql'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import type { Account as AccountRow, Issuer as IssuerRow } from '../../platform/postgres/database.js'
import { Account } from '../accounts/accounts.graphql.js'
import { enumOf, Scope } from '../graphql-types.js'
import { Issuer } from '../issuers/issuers.graphql.js'
import { type Finding, type Severity, severities } from './finding-definition.js'
import { type FindingCode, findings } from './findings.js'
import { healthOfAccount, healthOfIssuer } from './health.js'

const keysOf = <Name extends string>(table: Record<Name, unknown>): Name[] => Object.keys(table) as Name[]
/** Turns a clause into a sentence. */
const sentence = (clause: string): string => `${clause[0]!.toUpperCase()}${clause.slice(1)}.`

const HealthSeverity = enumOf(keysOf(severities))
registerEnumType(HealthSeverity, {
  name: 'HealthSeverity',
  description: 'The severity of a finding.',
  valuesConfig: Object.fromEntries(keysOf(severities).map((name) => [name, { description: severities[name] }])),
})

const HealthCode = enumOf(keysOf(findings))
registerEnumType(HealthCode, {
  name: 'HealthCode',
  description: 'The kind of a finding. `docs/reference/health.md` lists all kinds with examples.',
  valuesConfig: Object.fromEntries(
    keysOf(findings).map((name) => [name, { description: sentence(findings[name].when) }]),
  ),
})

@ObjectType({ description: 'A configuration problem, or a configuration that may not be intended.' })
class HealthFinding implements Finding {
  @Field(() => HealthCode)
  code!: FindingCode
  @Field(() => HealthSeverity)
  severity!: Severity
  @Field(() => String, { description: 'A sentence that describes the problem.' })
  message!: string
  @Field(() => String, { description: 'A sentence that describes how to fix the problem.' })
  fix!: string
  @Field(() => String, {
    description:
      'The setting or resource with the problem, relative to the issuer or account, in REST names, such as `settings.security.mfa_required` or `auth_methods/{id}`.',
  })
  path!: string
}

const healthDescription = (subject: string): string =>
  `Configuration problems of ${subject}, errors first, at most ${limits.maxFindingsPerCode} per code. Findings based on data that the caller must not read are omitted. The field counts as 500 rows for the cost limit.`

@Resolver(() => Issuer)
export class IssuerHealthResolver {
  @FieldResolver(() => [HealthFinding], {
    nullable: true,
    description: healthDescription('the issuer'),
  })
  @Scope('issuers', 'read')
  health(@Ctx() context: Context, @Root() issuer: IssuerRow): Promise<Finding[]> {
    return healthOfIssuer(context, issuer)
  }
}

@Resolver(() => Account)
export class AccountHealthResolver {
  @FieldResolver(() => [HealthFinding], {
    nullable: true,
    description: healthDescription('the account, without those of its issuers'),
  })
  @Scope('accounts', 'read')
  health(@Ctx() context: Context, @Root() account: AccountRow): Promise<Finding[]> {
    return healthOfAccount(context, account)
  }
}
