/**
 * Is a password among those that leaked somewhere (decisions D9)? Asked by k-anonymity: only the first five of the forty
 * digits of its SHA-1 leave this house, and the list of all leaked passwords that begin so comes back.
 */
import { hash } from 'node:crypto'
import { SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { outside } from '../../platform/database.js'

const PREFIX_LENGTH = 5
/** Somebody waits for the answer: without one in this time the password is taken (milliseconds). */
const TIMEOUT = 2 * SECOND
/** A list has some 100 kB at most, padding included. */
const MAX_LIST = 1 << 20

/**
 * @param password in NFC
 * @returns false also when nobody can say: a service of others must not keep people from choosing a password
 */
export function isBreached(context: Context, password: string): Promise<boolean> {
  const digest = hash('sha1', password).toUpperCase()
  return outside(context, `leaked ${digest}`, async () => {
    try {
      const rests = await leakedDigests(context, digest.slice(0, PREFIX_LENGTH))
      return rests.includes(digest.slice(PREFIX_LENGTH))
    } catch (error) {
      context.log.warn({ err: error }, 'a new password could not be checked against leaked ones, and was taken')
      return false
    }
  })
}

/**
 * Source: https://haveibeenpwned.com/API/v3#SearchingPwnedPasswordsByRange, or whoever speaks like it at
 * BREACHED_PASSWORDS_URL.
 * @param prefix five digits of a SHA-1, in capitals as all digits here
 * @returns the other 35 digits of those leaked passwords whose SHA-1 begins so
 * @throws Error when there is no answer, or none of that kind; its message may be shown to the operator
 */
export async function leakedDigests(
  { config, outbound }: Pick<Context, 'config' | 'outbound'>,
  prefix: string,
): Promise<string[]> {
  const { status, body } = await outbound.send({
    url: `${config.breachedPasswordsUrl}/${prefix}`,
    // Lists of one length, so that whoever sees them pass cannot tell which one it was.
    headers: { accept: 'text/plain', 'add-padding': 'true' },
    timeout: TIMEOUT,
    maxBody: MAX_LIST,
  })
  if (status !== 200) throw new Error(`It answers ${status}.`)
  const lines = [...body.matchAll(/^([0-9A-F]{35}):(\d+)\r?$/gim)]
  if (lines.length === 0 && body.trim() !== '') throw new Error('Its answer is no list of digests.')
  // Lines of padding count 0.
  return lines.filter(([, , count]) => Number(count) > 0).map(([, rest]) => rest!.toUpperCase())
}
