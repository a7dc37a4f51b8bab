/**
 * The setting rules of public keys: `jwks` and `jwks_uri` of clients and of verifiers of agents
 * (docs/contract.md#client-assertions).
 */
import { z } from 'zod'
import { invalidField } from '../../kernel/errors.js'
import { customIssue } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { type PublicKey, type PublicKeyError, readPublicKey } from '../../platform/crypto/public-keys.js'
import { addressError } from '../webhooks/webhook-url.js'

type KeyIssue = { path: PropertyKey[]; message: string }

function keyIssues(keys: readonly unknown[]): KeyIssue[] {
  const results = keys.map(readPublicKey)
  const errors = results.flatMap((result, at) =>
    'message' in result ? [{ path: pathOf(at, result), message: result.message }] : [],
  )
  return errors.length > 0 || keys.length === 1 ? errors : keyIdIssues(results as PublicKey[])
}

const pathOf = (at: number, { member }: PublicKeyError): PropertyKey[] => ['keys', at, ...(member ? [member] : [])]

/** Several keys need different `kid`, so that an assertion can name its key. */
const keyIdIssues = (keys: readonly PublicKey[]): KeyIssue[] =>
  keys.flatMap(({ kid }, at) => {
    const path = ['keys', at, 'kid']
    if (kid === undefined) return [{ path, message: 'is required for each key if there are several.' }]
    const isDuplicate = keys.findIndex((key) => key.kid === kid) < at
    return isDuplicate ? [{ path, message: 'must differ from the kid of the other keys.' }] : []
  })

/** A JSON Web Key Set (RFC 7517) with public keys. */
export const jwksRule = z
  .looseObject(
    {
      keys: z
        .array(z.unknown(), 'must be an array of JSON Web Keys.')
        .min(1, 'must have at least one key.')
        .max(limits.maxPublicKeys, `must have at most ${limits.maxPublicKeys} keys.`),
    },
    'must be a JSON Web Key Set: {"keys": […]}.',
  )
  .superRefine(({ keys }, context) => {
    for (const { path, message } of keyIssues(keys)) context.addIssue(customIssue(path, 'invalid_key', message))
  })

/** `requireAllowedJwksUri` checks the address. */
export const jwksUriRule = z
  .string('must be a URL.')
  .max(limits.maxUrlLength, `must have at most ${limits.maxUrlLength.toLocaleString('en-US')} characters.`)

/**
 * Requires that the outbound client may fetch a `jwks_uri` (docs/contract.md#outbound-requests).
 * @throws invalid_request naming `field`
 */
export function requireAllowedJwksUri({ config }: Context, field: string, uri: string): void {
  const error = addressError(uri, config.allowPrivateNetworks)
  if (error) throw invalidField(field, 'invalid_format', error)
}
