/**
 * Checks whether a password appeared in a data breach (docs/contract.md#password-policy) by k-anonymity: only the first
 * five of the forty hexadecimal digits of its SHA-1 are sent, and the service returns all digests with that prefix.
 */
import { hash } from 'node:crypto'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { externalCall } from '../../platform/postgres/transaction.js'

const PREFIX_LENGTH = 5

/**
 * @param password in NFC
 * @returns false also if the service fails: an outage of an external service must not prevent password changes
 */
export function isBreachedPassword(context: Context, password: string): Promise<boolean> {
  const digest = hash('sha1', password).toUpperCase()
  return externalCall(context, `breached password ${digest}`, async () => {
    try {
      const suffixes = await fetchBreachedSuffixes(context, digest.slice(0, PREFIX_LENGTH))
      return suffixes.includes(digest.slice(PREFIX_LENGTH))
    } catch (error) {
      context.log.warn({ err: error }, 'breached password check failed; password accepted')
      return false
    }
  })
}

/**
 * Requests the SHA-1 suffixes of breached passwords from BREACHED_PASSWORDS_URL. API:
 * https://haveibeenpwned.com/API/v3#SearchingPwnedPasswordsByRange
 * @param prefix the first five hexadecimal digits of a SHA-1, in upper case
 * @returns the other 35 digits of each breached password with this prefix, in upper case
 * @throws Error if the response is invalid; its message may be shown to the operator
 */
export async function fetchBreachedSuffixes(
  { config, outbound }: Pick<Context, 'config' | 'outbound'>,
  prefix: string,
): Promise<string[]> {
  const { status, body } = await outbound.send({
    url: `${config.breachedPasswordsUrl}/${prefix}`,
    // Padding gives all responses the same length, so that an observer of the traffic cannot identify the prefix.
    headers: { accept: 'text/plain', 'add-padding': 'true' },
    timeout: limits.breachedPasswordsTimeout,
    maxBody: limits.maxBreachedPasswordsResponseBytes,
  })
  if (status !== 200) throw new Error(`BREACHED_PASSWORDS_URL answered with status ${status}.`)
  const lines = [...body.matchAll(/^([0-9A-F]{35}):(\d+)\r?$/gim)]
  if (lines.length === 0 && body.trim() !== '')
    throw new Error('The response of BREACHED_PASSWORDS_URL is not a list of SHA-1 suffixes.')
  // Padding entries have the count 0.
  return lines.filter(([, , count]) => Number(count) > 0).map(([, rest]) => rest!.toUpperCase())
}
