/**
 * Computes the health findings of issuers and accounts: reads the facts that the caller may read, then applies the
 * rules.
 */
import { limits } from '../../kernel/limits.js'
import { coversScope } from '../../kernel/scopes.js'
import type { Context } from '../../platform/context.js'
import type { Account, Issuer } from '../../platform/postgres/database.js'
import { issuerSettingsOf } from '../issuers/settings.js'
import { type Finding, type FindingRule, severities } from './finding-definition.js'
import { accountFindings, issuerFindings } from './findings.js'
import {
  type AccountFacts,
  accountFacts,
  deploymentFacts,
  type IssuerFacts,
  issuerFacts,
  readFacts,
} from './health-facts.js'

type FindingTable<Facts> = Readonly<Record<string, FindingRule<Facts>>>
type FactScopes<Facts> = { readonly [Name in keyof Facts]: { scope: string } }

/**
 * Returns the rules whose facts the caller may read. The other rules would disclose data beyond the scopes of the
 * caller.
 */
function readableRows<Facts>({ actor }: Context, table: FindingTable<Facts>, facts: Partial<FactScopes<Facts>>) {
  const mayRead = (name: keyof Facts) => facts[name] !== undefined && coversScope(actor.scopes, facts[name].scope)
  return Object.entries(table).filter(([, row]) => row.reads.every(mayRead))
}

const severityOrder = Object.keys(severities)

function evaluate<Facts>(context: Context, rows: readonly [string, FindingRule<Facts>][], facts: Facts): Finding[] {
  const deployment = deploymentFacts(context)
  return rows
    .flatMap(([code, row]) => row.find(facts, deployment).map((finding) => ({ code, ...finding })))
    .sort((one, other) => severityOrder.indexOf(one.severity) - severityOrder.indexOf(other.severity))
}

/** Returns the names of the facts that these rules read. */
const requiredFactNames = <Facts>(rows: readonly [string, FindingRule<Facts>][]): (keyof Facts)[] => [
  ...new Set(rows.flatMap(([, { reads }]) => reads)),
]

/**
 * Returns the findings of an issuer that the caller may see, sorted by severity, then in the order of `issuerFindings`.
 * @param context the context whose actor has the scopes of the caller on the issuer
 */
export async function healthOfIssuer(context: Context, issuer: Issuer): Promise<Finding[]> {
  const rows = readableRows<IssuerFacts>(context, issuerFindings, issuerFacts)
  const names = requiredFactNames(rows) as (keyof typeof issuerFacts)[]
  const facts = await readFacts(context, issuerFacts, names, issuer.id)
  return evaluate(context, rows, { ...facts, settings: issuerSettingsOf(issuer) } as IssuerFacts)
}

/** Like `healthOfIssuer`, for an account. Does not include the findings of its issuers. */
export async function healthOfAccount(context: Context, account: Pick<Account, 'id'>): Promise<Finding[]> {
  const rows = readableRows<AccountFacts>(context, accountFindings, accountFacts)
  const facts = await readFacts(context, accountFacts, requiredFactNames(rows), account.id)
  return evaluate(context, rows, facts as AccountFacts)
}

export interface HealthReport {
  accountId: string
  /** Null for the report of an account. */
  issuerId: string | null
  name: string | null
  findings: Finding[]
}

/** Iterates over the reports of all accounts and then of all issuers that are not deleted. For operators only. */
export async function* healthOfAll(context: Context): AsyncGenerator<HealthReport> {
  const accounts = paginate((after) =>
    context.db.account.findMany({ where: { id: { gt: after } }, orderBy: { id: 'asc' }, take: limits.healthBatchSize }),
  )
  for await (const rows of accounts) {
    const tx = { ...context, loaders: new Map() }
    const all = await Promise.all(rows.map((account) => healthOfAccount(tx, account)))
    yield* rows.map(({ id, name }, at) => ({ accountId: id, issuerId: null, name, findings: all[at]! }))
  }
  const issuers = paginate((after) =>
    context.db.issuer.findMany({
      where: { id: { gt: after }, status: { not: 'deleted' } },
      orderBy: { id: 'asc' },
      take: limits.healthBatchSize,
    }),
  )
  for await (const rows of issuers) {
    const tx = { ...context, loaders: new Map() }
    const all = await Promise.all(rows.map((issuer) => healthOfIssuer(tx, issuer)))
    yield* rows.map(({ id, accountId, name }, at) => ({ accountId, issuerId: id, name, findings: all[at]! }))
  }
}

async function* paginate<Row extends { id: string }>(read: (after: string) => Promise<Row[]>): AsyncGenerator<Row[]> {
  for (let after = ''; ; ) {
    const rows = await read(after)
    yield rows
    if (rows.length < limits.healthBatchSize) return
    after = rows.at(-1)!.id
  }
}
