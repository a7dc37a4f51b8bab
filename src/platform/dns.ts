/** Questions to the name system. Every wait has a limit (security rule 24). */
import { Resolver } from 'node:dns/promises'
import { SECOND } from '../kernel/time.js'
import type { Context } from './context.js'

/** For one answer, and for all attempts together (milliseconds). */
const ANSWER_TIMEOUT = 1500
const TIMEOUT = 5 * SECOND

/**
 * The TXT records of a name, each with its parts joined (RFC 7208 3.3 reads them the same way).
 * @returns undefined when no server answered in time; nothing there is an empty list
 */
export async function textRecords({ config }: Context, name: string): Promise<string[] | undefined> {
  const resolver = new Resolver({ timeout: ANSWER_TIMEOUT, tries: 2 })
  if (config.dnsResolver !== undefined) resolver.setServers([config.dnsResolver])
  const timer = setTimeout(() => resolver.cancel(), TIMEOUT)
  try {
    const records = await resolver.resolveTxt(name)
    return records.map((parts) => parts.join(''))
  } catch (error) {
    const code = (error as { code?: string }).code ?? ''
    return ['ENODATA', 'ENOTFOUND'].includes(code) ? [] : undefined
  } finally {
    clearTimeout(timer)
  }
}
