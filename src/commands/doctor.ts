import type { Config } from '../config.js'
import { makeGatehouse } from '../gatehouse.js'
import { systemContext } from '../platform/jobs.js'
import type { Severity } from '../resources/health/finding.js'
import { healthOfAll, type Inspected } from '../resources/health/health.js'
import { type Checked, checks } from './checks.js'
import { exitCodes } from './command.js'
import { say } from './deployment.js'
import { type Inspection, inspect } from './inspection.js'

type NamedCheck = Checked & { check: string }

/** `gatehouse doctor`: looks, changes nothing, and says what to do. */
export async function run(config: Config, { json }: { json?: boolean }): Promise<number> {
  const report = json ? jsonReport() : textReport()
  let ok = true
  await inspect(config, async (inspection) => {
    for (const [check, look] of Object.entries(checks)) {
      const found = await look(inspection).catch(unknown)
      if (!found) continue
      ok &&= found.state !== 'broken'
      report.check({ check, ...found })
    }
    try {
      for await (const inspected of healthIn(inspection)) {
        ok &&= inspected.findings.every(({ severity }) => severity !== 'ERROR')
        report.health(inspected)
      }
    } catch (error) {
      ok = false
      report.check({ check: 'health', ...unknown(error) })
    }
  })
  report.end(ok)
  return ok ? exitCodes.done : exitCodes.failed
}

const unknown = (error: unknown): Checked => ({
  state: 'broken',
  text: `could not be looked at: ${error instanceof Error ? error.message : String(error)}`,
})

/** Accounts and issuers, one after the other, of a database that is as this version knows it. */
async function* healthIn({ config, database, migrated }: Inspection): AsyncGenerator<Inspected> {
  if (!database || !(await migrated())) return
  const gatehouse = makeGatehouse(config, database.url)
  try {
    yield* healthOfAll(systemContext(gatehouse))
  } finally {
    await gatehouse.outbound.close()
    gatehouse.postman.close()
    await gatehouse.tools.close()
  }
}

/** What is found is printed as it is found: a deployment has thousands of issuers. Checks come first, or at the very end. */
interface Report {
  check(check: NamedCheck): void
  health(inspected: Inspected): void
  end(ok: boolean): void
}

/** One JSON object; its findings are lines of their own. */
function jsonReport(): Report {
  const kept: NamedCheck[] = []
  let count = 0
  const open = () => {
    if (count === 0) say('{"findings": [')
  }
  return {
    check: (check) => void kept.push(check),
    health({ accountId, issuerId, findings }) {
      for (const { code, severity, message, fix, path } of findings) {
        open()
        const finding = { code, severity, message, fix, path, account_id: accountId, issuer_id: issuerId }
        say(`${count++ === 0 ? ' ' : ','}${JSON.stringify(finding)}`)
      }
    },
    end(ok) {
      open()
      say(`], "checks": ${JSON.stringify(kept)}, "ok": ${ok}}`)
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
    check({ check, state, text, fix }) {
      counts[state]++
      say(`${state.padEnd(6)}  ${check.padEnd(14)}  ${text}`)
      if (fix !== undefined) say(`${' '.repeat(24)}${fix}`)
    },
    health({ accountId, issuerId, name, findings }) {
      if (findings.length === 0) return
      say(
        `\n${issuerId === null ? `Account ${accountId}` : `Issuer ${issuerId} of ${accountId}`}${name ? `, ${oneLine(name)}` : ''}`,
      )
      for (const { severity, code, path, message, fix } of findings) {
        counts[severity]++
        say(`  ${severity.padEnd(7)}  ${code} at ${oneLine(path)}`)
        say(`${' '.repeat(11)}${oneLine(message)}`)
        say(`${' '.repeat(11)}${oneLine(fix)}`)
      }
    },
    end() {
      const { broken, warn, ERROR, WARNING, INFO } = counts
      say(`\nDeployment: ${broken > 0 ? `${broken} broken` : 'nothing is broken'}, ${warn} to look at.`)
      say(
        `Accounts and issuers: ${[many(ERROR, 'error'), many(WARNING, 'warning'), `${INFO} for information`].join(', ')}.`,
      )
    },
  }
}

const many = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

/** Names are written by tenants; on a terminal they must not pass for lines of ours. */
const oneLine = (text: string): string => text.replace(/\p{Cc}+/gu, ' ')
