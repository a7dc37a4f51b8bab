/**
 * Checks whether a password appeared in a data breach (docs/contract.md#password-policy). To preserve k-anonymity, only
 * the first five of the forty hexadecimal digits of the password's SHA-1 are sent, and the service returns the other
 * digits of each breached password whose SHA-1 begins with them.
 */
import { hash } from 'node:crypto'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { externalCall } from '../../platform/postgres/transaction.js'

const PREFIX_LENGTH = 5

/**
 * Returns whether a password is in the external list of breached passwords.
 * @param password in Unicode normalization form NFC
 * @returns false also if the request fails, because an outage of the service must not prevent password changes
 */
export function isBreachedPassword(context: Context, password: string): Promise<boolean> {
  const digest = hash('sha1', password).toUpperCase()
  return externalCall(context, `breached password ${digest}`, async () => {
    try {
      const suffixes = await fetchBreachedSuffixes(context, digest.slice(0, PREFIX_LENGTH))
      return suffixes.includes(digest.slice(PREFIX_LENGTH))
    } catch (error) {
      context.log.warn({ err: error }, 'the breached password check failed; the password was accepted without it')
      return false
    }
  })
}

/**
 * Requests the SHA-1 suffixes of breached passwords from BREACHED_PASSWORDS_URL. API:
 * https://haveibeenpwned.com/API/v3#SearchingPwnedPasswordsByRange
 * @param prefix the first five hexadecimal digits of a SHA-1, in upper case
 * @returns the other 35 digits of each breached password with this prefix, in upper case
 * @throws Error if the request fails or the response is invalid
 */
export async function fetchBreachedSuffixes(
  { config, outbound }: Pick<Context, 'config' | 'outbound'>,
  prefix: string,
): Promise<string[]> {
  const { status, body } = await outbound.send({
    url: `${config.breachedPasswordsUrl}/${prefix}`,
    // The service adds random entries to the response, so that its length does not show an observer which prefix was
    // requested.
    headers: { accept: 'text/plain', 'add-padding': 'true' },
    timeout: limits.breachedPasswordsTimeout,
    maxBody: limits.maxBreachedPasswordsResponseBytes,
  })
  if (status !== 200) throw new Error(`BREACHED_PASSWORDS_URL returned the status ${status} instead of 200.`)
  const lines = [...body.matchAll(/^([0-9A-F]{35}):(\d+)\r?$/gim)]
  if (lines.length === 0 && body.trim() !== '')
    throw new Error('The response of BREACHED_PASSWORDS_URL is not a list of SHA-1 suffixes.')
  // The entries that the service added as padding have the count 0.
  return lines.filter(([, , count]) => Number(count) > 0).map(([, rest]) => rest!.toUpperCase())
}
