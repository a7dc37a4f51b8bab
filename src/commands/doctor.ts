import type { Config } from '../config.js'
import { systemContext } from '../platform/jobs/periodic-jobs.js'
import type { Severity } from '../resources/health/finding-definition.js'
import { type HealthReport, healthOfAll } from '../resources/health/health.js'
import { createGatehouse } from '../server/root-context.js'
import { type CheckResult, checks } from './checks.js'
import { exitCodes } from './command.js'
import { print } from './deployment.js'
import { type Inspection, inspect } from './inspection.js'

type NamedCheck = CheckResult & { check: string }

/**
 * `gatehouse doctor`: checks the deployment and prints how to fix problems. Changes nothing, except that it creates a
 * missing DATA_DIR with its key and the embedded database.
 */
export async function run(config: Config, { json }: { json?: boolean }): Promise<number> {
  const report = json ? jsonReport() : textReport()
  let ok = true
  await inspect(config, async (inspection) => {
    for (const [check, runCheck] of Object.entries(checks)) {
      const result = await runCheck(inspection).catch(failedCheck)
      if (!result) continue
      ok &&= result.state !== 'broken'
      report.addCheck({ check, ...result })
    }
    try {
      for await (const inspected of inspectHealth(inspection)) {
        ok &&= inspected.findings.every(({ severity }) => severity !== 'ERROR')
        report.addHealth(inspected)
      }
    } catch (error) {
      ok = false
      report.addCheck({ check: 'health', ...failedCheck(error) })
    }
  })
  report.finish(ok)
  return ok ? exitCodes.done : exitCodes.failed
}

const failedCheck = (error: unknown): CheckResult => ({
  state: 'broken',
  text: `the check failed: ${error instanceof Error ? error.message : String(error)}`,
})

/** Yields the health reports of all accounts and issuers; none if migrations of this version are pending. */
async function* inspectHealth({ config, database, isSchemaCurrent }: Inspection): AsyncGenerator<HealthReport> {
  if (!database || !(await isSchemaCurrent())) return
  const gatehouse = createGatehouse(config, database.url)
  try {
    yield* healthOfAll(systemContext(gatehouse))
  } finally {
    await gatehouse.outbound.close()
    gatehouse.mailer.close()
    await gatehouse.database.close()
  }
}

/**
 * Prints health reports as they arrive, because a deployment may have thousands of issuers. The text output begins with
 * the checks; the JSON output ends with them.
 */
interface Report {
  addCheck(check: NamedCheck): void
  addHealth(inspected: HealthReport): void
  finish(ok: boolean): void
}

/** Prints one JSON object, in which each finding is on a separate line. */
function jsonReport(): Report {
  const collectedChecks: NamedCheck[] = []
  let count = 0
  const printOpening = () => {
    if (count === 0) print('{"findings": [')
  }
  return {
    addCheck: (check) => void collectedChecks.push(check),
    addHealth({ accountId, issuerId, findings }) {
      for (const { code, severity, message, fix, path } of findings) {
        printOpening()
        const finding = { code, severity, message, fix, path, account_id: accountId, issuer_id: issuerId }
        print(`${count++ === 0 ? ' ' : ','}${JSON.stringify(finding)}`)
      }
    },
    finish(ok) {
      printOpening()
      print(`], "checks": ${JSON.stringify(collectedChecks)}, "ok": ${ok}}`)
    },
  }
}

function textReport(): Report {
  const counts: Record<'broken' | 'warn' | 'ok' | Severity, number> = {
    broken: 0,
    warn: 0,
    ok: 0,
    ERROR: 0,
    WARNING: 0,
    INFO: 0,
  }
  return {
    addCheck({ check, state, text, fix }) {
      counts[state]++
      print(`${state.padEnd(6)}  ${check.padEnd(18)}  ${text}`)
      if (fix !== undefined) print(`${' '.repeat(28)}${fix}`)
    },
    addHealth({ accountId, issuerId, name, findings }) {
      if (findings.length === 0) return
      print(
        `\n${issuerId === null ? `Account ${accountId}` : `Issuer ${issuerId} of ${accountId}`}${name ? `, ${oneLine(name)}` : ''}`,
      )
      for (const { severity, code, path, message, fix } of findings) {
        counts[severity]++
        print(`  ${severity.padEnd(7)}  ${code} at ${oneLine(path)}`)
        print(`${' '.repeat(11)}${oneLine(message)}`)
        print(`${' '.repeat(11)}${oneLine(fix)}`)
      }
    },
    finish() {
      const { broken, warn, ERROR, WARNING, INFO } = counts
      print(`\nDeployment: ${broken > 0 ? `${broken} broken` : 'nothing is broken'}, ${pluralize(warn, 'warning')}.`)
      print(
        `Accounts and issuers: ${[pluralize(ERROR, 'error'), pluralize(WARNING, 'warning'), `${INFO} informational`].join(', ')}.`,
      )
    },
  }
}

const pluralize = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

/**
 * Replaces control characters by spaces. Tenants choose the names in the output, and a name with line breaks could
 * imitate other lines of it.
 */
const oneLine = (text: string): string => text.replace(/\p{Cc}+/gu, ' ')
