import type { Config } from '../config.js'
import { checks, type Finding } from './checks.js'
import { exitCodes } from './command.js'
import { say } from './deployment.js'
import { inspect } from './inspection.js'

/** `gatehouse doctor`: looks, changes nothing, and says what to do. */
export async function run(config: Config, { json }: { json?: boolean }): Promise<number> {
  const findings: (Finding & { check: string })[] = []
  await inspect(config, async (inspection) => {
    for (const [check, look] of Object.entries(checks)) {
      const found = await look(inspection).catch(
        (error: unknown): Finding => ({
          state: 'broken',
          text: `could not be looked at: ${error instanceof Error ? error.message : String(error)}`,
        }),
      )
      if (found) findings.push({ check, ...found })
    }
  })
  const broken = findings.filter(({ state }) => state === 'broken').length
  if (json) say(JSON.stringify({ ok: broken === 0, findings }))
  else {
    for (const { check, state, text, fix } of findings) {
      say(`${state.padEnd(6)}  ${check.padEnd(14)}  ${text}`)
      if (fix !== undefined) say(`${' '.repeat(24)}${fix}`)
    }
    const warnings = findings.filter(({ state }) => state === 'warn').length
    say(broken > 0 ? `${broken} broken, ${warnings} to look at.` : `Nothing is broken, ${warnings} to look at.`)
  }
  return broken > 0 ? exitCodes.failed : exitCodes.done
}
