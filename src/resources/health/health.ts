/** Evaluates the table of findings for issuers and accounts: read the facts that the caller may read, then decide. */
import { covers } from '../../kernel/scopes.js'
import type { Context } from '../../platform/context.js'
import type { Account, Issuer } from '../../platform/database.js'
import { settingsOf } from '../issuers/settings.js'
import { type AccountFacts, accountFacts, deploymentOf, type IssuerFacts, issuerFacts, readFacts } from './facts.js'
import { type Finding, type FindingRow, severities } from './finding.js'
import { accountFindings, issuerFindings } from './findings.js'

type Table<Facts> = Readonly<Record<string, FindingRow<Facts>>>
type Scopes<Facts> = { readonly [Name in keyof Facts]: { scope: string } }

/** The rows whose facts the caller may read; the others would tell more than its scopes allow. */
function readable<Facts>({ actor }: Context, table: Table<Facts>, facts: Partial<Scopes<Facts>>) {
  const mayRead = (name: keyof Facts) => covers(actor.scopes, facts[name]?.scope ?? '')
  return Object.entries(table).filter(([, row]) => row.reads.every(mayRead))
}

const rank = Object.keys(severities)

function evaluate<Facts>(context: Context, rows: readonly [string, FindingRow<Facts>][], facts: Facts): Finding[] {
  const deployment = deploymentOf(context)
  return rows
    .flatMap(([code, row]) => row.find(facts, deployment).map((finding) => ({ code, ...finding })))
    .sort((one, other) => rank.indexOf(one.severity) - rank.indexOf(other.severity))
}

/** The names of the facts that these rows read. */
const namesIn = <Facts>(rows: readonly [string, FindingRow<Facts>][]): (keyof Facts)[] => [
  ...new Set(rows.flatMap(([, { reads }]) => reads)),
]

/**
 * What is wrong with an issuer, as far as the caller may know it: ERROR first, then in the order of the table.
 * @param context its actor has the scopes that count on the issuer
 */
export async function healthOfIssuer(context: Context, issuer: Issuer): Promise<Finding[]> {
  const rows = readable<IssuerFacts>(context, issuerFindings, issuerFacts)
  const names = namesIn(rows) as (keyof typeof issuerFacts)[]
  const facts = await readFacts(context, issuerFacts, names, issuer.id)
  return evaluate(context, rows, { ...facts, settings: settingsOf(issuer) } as IssuerFacts)
}

/** What is wrong with an account itself, its issuers aside. See `healthOfIssuer`. */
export async function healthOfAccount(context: Context, account: Pick<Account, 'id'>): Promise<Finding[]> {
  const rows = readable<AccountFacts>(context, accountFindings, accountFacts)
  const facts = await readFacts(context, accountFacts, namesIn(rows), account.id)
  return evaluate(context, rows, facts as AccountFacts)
}

export interface Inspected {
  accountId: string
  /** Null for an account. */
  issuerId: string | null
  name: string | null
  findings: Finding[]
}

/** How many accounts or issuers are looked at together, in statements that have a time limit. */
const BATCH = 20

/** The health of all accounts and then of all issuers of the deployment, a batch at a time. For operators. */
export async function* healthOfAll(context: Context): AsyncGenerator<Inspected> {
  const accounts = pages((after) =>
    context.db.account.findMany({ where: { id: { gt: after } }, orderBy: { id: 'asc' }, take: BATCH }),
  )
  for await (const rows of accounts) {
    const inside = { ...context, loaders: new Map() }
    const all = await Promise.all(rows.map((account) => healthOfAccount(inside, account)))
    yield* rows.map(({ id, name }, at) => ({ accountId: id, issuerId: null, name, findings: all[at]! }))
  }
  const issuers = pages((after) =>
    context.db.issuer.findMany({
      where: { id: { gt: after }, status: { not: 'deleted' } },
      orderBy: { id: 'asc' },
      take: BATCH,
    }),
  )
  for await (const rows of issuers) {
    const inside = { ...context, loaders: new Map() }
    const all = await Promise.all(rows.map((issuer) => healthOfIssuer(inside, issuer)))
    yield* rows.map(({ id, accountId, name }, at) => ({ accountId, issuerId: id, name, findings: all[at]! }))
  }
}

async function* pages<Row extends { id: string }>(read: (after: string) => Promise<Row[]>): AsyncGenerator<Row[]> {
  for (let after = ''; ; ) {
    const rows = await read(after)
    yield rows
    if (rows.length < BATCH) return
    after = rows.at(-1)!.id
  }
}
