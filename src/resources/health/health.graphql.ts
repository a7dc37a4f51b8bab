import { Ctx, Resolver, Root } from 'type-graphql'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import type { Account as AccountRow, Issuer as IssuerRow } from '../../platform/postgres/database.js'
import { Account } from '../accounts/account.js'
import { Relation, Scope } from '../graphql-types.js'
import { Issuer } from '../issuers/issuer.js'
import type { Finding } from './finding-definition.js'
import { healthOfAccount, healthOfIssuer } from './health.js'
import { HealthFinding } from './health-finding.js'

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
