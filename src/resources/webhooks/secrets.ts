/**
 * Webhook authentication (docs/contract.md#webhook-payload-and-signature): a bearer token, a signature, both or none.
 * The secrets are stored encrypted in one column. Only the response to the request that creates a secret contains the
 * secret.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { limits } from '../../kernel/limits.js'
import { toUnixSeconds } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { randomSecret } from '../../platform/crypto/secrets.js'
import type { WebhookAuthType } from './webhook.js'

/** Contents of the encrypted column. */
export interface Secrets {
  /** The bearer token. */
  bearer?: string
  /** The signing secret. */
  signature?: string
  /** The previous signing secret, which also signs until `previous_until`. */
  previous?: string
  /** Unix milliseconds. */
  previous_until?: number
}

const SECRET_PREFIX = 'whsec_'

const hasBearer = (auth: string): boolean => auth.startsWith('bearer')
const hasSignature = (auth: string): boolean => auth.endsWith('signature')

export const decryptSecrets = ({ encryptor }: Pick<Context, 'encryptor'>, encrypted: string): Secrets =>
  JSON.parse(encryptor.decrypt(encrypted)) as Secrets
export const encryptSecrets = ({ encryptor }: Context, secrets: Secrets): string =>
  encryptor.encrypt(JSON.stringify(secrets))

/**
 * Generates secrets for an authentication type. If the type has a signature, the signing secret of `previous` also
 * signs for `limits.webhookSecretOverlap`.
 */
export function generateSecrets(context: Context, auth: WebhookAuthType, previous: Secrets = {}): Secrets {
  const secrets: Secrets = {}
  if (hasBearer(auth)) secrets.bearer = randomSecret()
  if (hasSignature(auth)) {
    secrets.signature = SECRET_PREFIX + randomBytes(32).toString('base64')
    if (previous.signature !== undefined) {
      secrets.previous = previous.signature
      secrets.previous_until = context.now() + limits.webhookSecretOverlap
    }
  }
  return secrets
}

/**
 * Returns the authentication headers of an attempt: the bearer token, and the signatures in the header
 * `X-Webhook-Signature` and in the headers of Standard Webhooks. The signatures cover the exact bytes of the body and
 * the time of the attempt, so that receivers can reject replays.
 * @param id id of the event
 * @param now time of the attempt (Unix milliseconds)
 */
export function authenticationHeaders(secrets: Secrets, id: string, body: string, now: number): Record<string, string> {
  const headers: Record<string, string> = {}
  if (secrets.bearer !== undefined) headers['authorization'] = `Bearer ${secrets.bearer}`
  if (secrets.signature === undefined) return headers
  const timestamp = String(toUnixSeconds(now))
  const previousSecrets =
    secrets.previous !== undefined && (secrets.previous_until ?? 0) > now ? [secrets.previous] : []
  const keys = [secrets.signature, ...previousSecrets].map((secret) =>
    Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64'),
  )
  const gatehouseSignatures = keys.map((key) => createHmac('sha256', key).update(`${timestamp}.${body}`).digest('hex'))
  const standardSignatures = keys.map((key) =>
    createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64'),
  )
  headers['x-webhook-signature'] = [`t=${timestamp}`, ...gatehouseSignatures.map((value) => `v1=${value}`)].join(',')
  headers['webhook-id'] = id
  headers['webhook-timestamp'] = timestamp
  headers['webhook-signature'] = standardSignatures.map((value) => `v1,${value}`).join(' ')
  return headers
}
