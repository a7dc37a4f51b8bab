/** DNS queries with timeouts (docs/contract.md#timeouts-and-unavailability). */
import { Resolver } from 'node:dns/promises'
import type { Config } from '../../config.js'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../context.js'
import { externalCall } from '../postgres/transaction.js'

/**
 * Returns the TXT records of a name. The strings of each record are concatenated (as in RFC 7208, section 3.3).
 * @returns an empty list when the name has no TXT records; undefined when the query fails or no server responds in time
 */
export const resolveTxtRecords = (context: Context, name: string): Promise<string[] | undefined> =>
  externalCall(context, `TXT ${name}`, () => queryTxt(context.config, name))

async function queryTxt({ dnsResolver }: Config, name: string): Promise<string[] | undefined> {
  const resolver = new Resolver({ timeout: limits.dnsQueryTimeout, tries: 2 })
  if (dnsResolver !== undefined) resolver.setServers([dnsResolver])
  const timer = setTimeout(() => resolver.cancel(), limits.dnsTotalTimeout)
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
