/** Prints the results of the plans as docs/conformance.md. */

import { table } from '../markdown-table.js'
import { expectedResults, unexpected } from './expected-results.js'
import type { Plan } from './plans.js'
import type { ModuleResult } from './run-plan.js'

export interface PlanResult {
  plan: Plan
  results: ModuleResult[]
}

const introduction = `# Conformance

The [conformance suite](https://gitlab.com/openid/conformance-suite) of the OpenID Foundation tests whether an OpenID
provider follows the standards. A plan is a list of modules for one certification profile; each module tests one
subject. This page is written by \`npm run conformance\`, which runs the plans against this version of Gatehouse. It is
not a certification.`

const instructions = `## Run it

You need Java 17 or later (a JDK) and Maven. Build the suite once, outside of this repository:

\`\`\`sh
git clone --branch release-v5.1.43 https://gitlab.com/openid/conformance-suite.git
cd conformance-suite
mvn -B -Dmaven.test.skip=true package        # creates target/fapi-test-suite.jar
\`\`\`

Then, in this repository:

\`\`\`sh
npm run conformance -- ../conformance-suite/target/fapi-test-suite.jar
npm run conformance -- <suite.jar> --plan basic-es256 --plan fapi2
npm run conformance -- <suite.jar> --plan basic-es256 --module oidcc-server
\`\`\`

The command starts Gatehouse with an embedded PostgreSQL, the suite, an in-memory database with the protocol of MongoDB,
and Chromium, all on free ports of this machine, and stops them at the end. A reverse proxy terminates TLS with a
self-signed certificate that only these processes trust. All URLs have the host \`localhost\`, so that no other name has
to resolve. Each plan gets an account with an issuer, a user and clients, which the command creates through GraphQL and
\`/v1\`.

The exit code is 1 if a module has another result than \`scripts/conformance/expected-results.ts\` says. The logs are in
\`dist/conformance\`. A run of all plans writes this page.

The FAPI 2.0 plan also tests TLS, for which the proxy in front of Gatehouse is responsible: see
[Addresses and TLS](production.md#addresses-and-tls).

A picture of a page is uploaded where the suite asks for one. Such modules end with REVIEW, because the suite leaves the
decision to a person; the command checks that the page contains the expected text.`

const columns = ['PASSED', 'REVIEW', 'WARNING', 'SKIPPED', 'FAILED'] as const

/** Modules of a plan that have this result. A module without end has failed. */
const count = (results: readonly ModuleResult[], column: string): number =>
  results.filter(({ result }) => result === column || (column === 'FAILED' && result === 'TIMEOUT')).length

/** Returns the counts of each plan as a Markdown table. */
export const countsTable = (plans: readonly PlanResult[]): string =>
  table(
    ['Plan', ...columns.map((name) => name[0] + name.slice(1).toLowerCase())],
    plans.map(({ plan, results }) => [plan.title, ...columns.map((column) => String(count(results, column)))]),
  )

/**
 * Returns the page docs/conformance.md.
 * @param suiteVersion the version that the suite reports, such as 5.1.43
 */
export function conformancePage(plans: readonly PlanResult[], suiteVersion: string, date: Date): string {
  const variants = plans.map(({ plan }) => {
    const choices = Object.entries(plan.variant ?? {}).map(([name, value]) => `\`${name}=${value}\``)
    return [plan.title, `\`${plan.id}\``, `\`${plan.name}\``, choices.join(', ')]
  })
  const results = `## Results

Version ${suiteVersion} of the suite, ${date.toISOString().slice(0, 10)}.

${countsTable(plans)}`
  const parts = [
    introduction,
    results,
    '## Modules that did not pass',
    ...otherResults(plans),
    '## Plans',
    table(['Plan', '`--plan`', 'Name in the suite', 'Variant'], variants),
    instructions,
  ]
  return `${parts.join('\n\n')}\n`
}

/** Returns the modules that did not pass, with the reasons. Plans with the same modules and results share a table. */
function otherResults(plans: readonly PlanResult[]): string[] {
  const titlesOf = new Map<string, string[]>()
  for (const { plan, results } of plans) {
    const rows = results
      .filter(({ result }) => result !== 'PASSED')
      .map((one) => [`\`${one.module}\``, one.result, reasonOf(one)])
    if (rows.length === 0) continue
    const text = table(['Module', 'Result', 'Reason'], rows)
    titlesOf.set(text, [...(titlesOf.get(text) ?? []), plan.title])
  }
  return [...titlesOf].map(([text, titles]) => `### ${titles.join('; ')}\n\n${text}`)
}

function reasonOf(result: ModuleResult): string {
  const problem = unexpected(result)
  if (problem !== undefined) return `Unexpected: ${problem}`
  const { reason = '', page } = expectedResults[result.module] ?? {}
  return page === undefined ? reason : `${reason} It contains “${page}”.`
}
