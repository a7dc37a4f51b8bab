/**
 * What a webhook proves itself with (spec 6.2, decisions D4): a bearer token, a signature, or both. The secrets lie
 * sealed in one column and are shown once, by the answer that made them.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { HOUR, seconds } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { randomSecret } from '../../platform/secrets.js'

export const auths = ['none', 'bearer', 'signature', 'bearer+signature'] as const
export type Auth = (typeof auths)[number]

/** As they lie sealed. `previous` signs as well until then (milliseconds), so that receivers change keys in peace. */
export interface Secrets {
  bearer?: string
  signature?: string
  previous?: string
  previous_until?: number
}

/** How long the key before a rotation goes on signing: receivers are given the new one by hand. */
export const OVERLAP = 24 * HOUR
const PREFIX = 'whsec_'

const hasBearer = (auth: string): boolean => auth.startsWith('bearer')
const hasSignature = (auth: string): boolean => auth.endsWith('signature')

export const openSecrets = ({ sealer }: Pick<Context, 'sealer'>, sealed: string): Secrets =>
  JSON.parse(sealer.open(sealed)) as Secrets
export const sealSecrets = ({ sealer }: Context, secrets: Secrets): string => sealer.seal(JSON.stringify(secrets))

/** New secrets for a kind of authentication; the signing key of `before` signs too for a while. */
export function newSecrets(context: Context, auth: Auth, before: Secrets = {}): Secrets {
  const secrets: Secrets = {}
  if (hasBearer(auth)) secrets.bearer = randomSecret()
  if (hasSignature(auth)) {
    secrets.signature = PREFIX + randomBytes(32).toString('base64')
    if (before.signature !== undefined) {
      secrets.previous = before.signature
      secrets.previous_until = context.now() + OVERLAP
    }
  }
  return secrets
}

/**
 * The headers of one attempt: the bearer token, and both signature sets over the very bytes that are sent, with the
 * moment of this attempt, so that an old request cannot be played again.
 * @param now milliseconds
 */
export function proofs(secrets: Secrets, id: string, body: string, now: number): Record<string, string> {
  const headers: Record<string, string> = {}
  if (secrets.bearer !== undefined) headers['authorization'] = `Bearer ${secrets.bearer}`
  if (secrets.signature === undefined) return headers
  const timestamp = String(seconds(now))
  const old = secrets.previous !== undefined && (secrets.previous_until ?? 0) > now ? [secrets.previous] : []
  const keys = [secrets.signature, ...old].map((secret) => Buffer.from(secret.slice(PREFIX.length), 'base64'))
  const own = keys.map((key) => createHmac('sha256', key).update(`${timestamp}.${body}`).digest('hex'))
  const standard = keys.map((key) => createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64'))
  headers['x-webhook-signature'] = [`t=${timestamp}`, ...own.map((value) => `v1=${value}`)].join(',')
  headers['webhook-id'] = id
  headers['webhook-timestamp'] = timestamp
  headers['webhook-signature'] = standard.map((value) => `v1,${value}`).join(' ')
  return headers
}
