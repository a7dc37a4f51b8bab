import { Ctx, Field, FieldResolver, ObjectType, Resolver, Root, registerEnumType } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { Account as AccountRow, Issuer as IssuerRow } from '../../platform/database.js'
import { Account } from '../accounts/accounts.graphql.js'
import { enumOf, Scope } from '../graphql.js'
import { Issuer } from '../issuers/issuers.graphql.js'
import { type Finding, MAX_OF_A_CODE, type Severity, severities } from './finding.js'
import { type FindingCode, findings } from './findings.js'
import { healthOfAccount, healthOfIssuer } from './health.js'

const keysOf = <Name extends string>(table: Record<Name, unknown>): Name[] => Object.keys(table) as Name[]
/** GraphQL shows descriptions as Markdown, of whole sentences. */
const sentence = (clause: string): string => `${clause[0]!.toUpperCase()}${clause.slice(1)}.`

const HealthSeverity = enumOf(keysOf(severities))
registerEnumType(HealthSeverity, {
  name: 'HealthSeverity',
  description: 'How serious a finding is.',
  valuesConfig: Object.fromEntries(keysOf(severities).map((name) => [name, { description: severities[name] }])),
})

const HealthCode = enumOf(keysOf(findings))
registerEnumType(HealthCode, {
  name: 'HealthCode',
  description: 'What was found. The reference page `docs/reference/health.md` has them all, with examples.',
  valuesConfig: Object.fromEntries(
    keysOf(findings).map((name) => [name, { description: sentence(findings[name].when) }]),
  ),
})

@ObjectType({ description: 'A problem of the configuration that an administrator should act on.' })
class HealthFinding implements Finding {
  @Field(() => HealthCode)
  code!: FindingCode
  @Field(() => HealthSeverity)
  severity!: Severity
  @Field(() => String, { description: 'What is wrong, in a sentence.' })
  message!: string
  @Field(() => String, { description: 'What to do about it, in a sentence.' })
  fix!: string
  @Field(() => String, {
    description:
      'The setting or object that it is about, relative to the issuer or account, in the names of `/v1`: `settings.security.mfa_required`, `auth_methods/{id}`.',
  })
  path!: string
}

const description = (of: string): string =>
  `Problems of ${of} that an administrator should act on, errors first; at most ${MAX_OF_A_CODE} of each code. A finding whose facts the caller's scopes do not let it read is left out. Costs as much as 500 rows.`

@Resolver(() => Issuer)
export class IssuerHealthResolver {
  @FieldResolver(() => [HealthFinding], { nullable: true, description: description("the issuer's configuration") })
  @Scope('issuers', 'read')
  health(@Ctx() context: Context, @Root() issuer: IssuerRow): Promise<Finding[]> {
    return healthOfIssuer(context, issuer)
  }
}

@Resolver(() => Account)
export class AccountHealthResolver {
  @FieldResolver(() => [HealthFinding], {
    nullable: true,
    description: description('the account itself; each of its issuers has its own'),
  })
  @Scope('accounts', 'read')
  health(@Ctx() context: Context, @Root() account: AccountRow): Promise<Finding[]> {
    return healthOfAccount(context, account)
  }
}
