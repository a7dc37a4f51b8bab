/**
 * Is a password among those that leaked somewhere (decisions D9)? Asked by k-anonymity: only the first five of the forty
 * digits of its SHA-1 leave this house, and the list of all leaked passwords that begin so comes back.
 */
import { hash } from 'node:crypto'
import { SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'

const PREFIX_LENGTH = 5
/** Somebody waits for the answer: without one in this time the password is taken (milliseconds). */
const TIMEOUT = 2 * SECOND
/** A list has some 100 kB at most, padding included. */
const MAX_LIST = 1 << 20

/**
 * Source: https://haveibeenpwned.com/API/v3#SearchingPwnedPasswordsByRange, or whoever speaks like it at
 * BREACHED_PASSWORDS_URL.
 * @param password in NFC
 * @returns false also when nobody can say: a service of others must not keep people from choosing a password
 */
export async function isBreached(context: Context, password: string): Promise<boolean> {
  const digest = hash('sha1', password).toUpperCase()
  const [prefix, rest] = [digest.slice(0, PREFIX_LENGTH), digest.slice(PREFIX_LENGTH)]
  try {
    const { status, body } = await context.outbound.send({
      url: `${context.config.breachedPasswordsUrl}/${prefix}`,
      // Lists of one length, so that whoever sees them pass cannot tell which one it was.
      headers: { accept: 'text/plain', 'add-padding': 'true' },
      timeout: TIMEOUT,
      maxBody: MAX_LIST,
    })
    if (status !== 200) throw new Error(`it answers ${status}`)
    // Lines of padding count 0.
    return body.split('\n').some((line) => /^([0-9A-F]{35}):0*[1-9]/i.exec(line)?.[1]?.toUpperCase() === rest)
  } catch (error) {
    context.log.warn({ err: error }, 'a new password could not be checked against leaked ones, and was taken')
    return false
  }
}
