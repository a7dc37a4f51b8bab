/**
 * Wallet authentication of agents (docs/contract.md#wallet-authentication-of-agents, RFC 7521 section 4.2).
 * oidc-provider does not support these assertions. Therefore an assertion is verified before oidc-provider runs, and
 * replaced in the form by a random client secret, which `compareClientSecret` accepts if the assertion was valid. If it
 * was invalid, the secret does not match, so that every invalid assertion has the same response.
 */

import type { Context as KoaContext } from 'koa'
import { isId } from '../../kernel/ids.js'
import { limits } from '../../kernel/limits.js'
import { networkOf } from '../../kernel/network.js'
import { randomSecret } from '../../platform/crypto/secrets.js'
import {
  type AuthenticationMethod,
  recordAgentAuthenticationFailed,
} from '../../resources/agents/authentication-events.js'
import { redeemChallenge, type SignedMessage } from '../../resources/agents/challenges.js'
import type { OpenIdContext } from '../provider-types.js'
import { consumeRateLimit } from '../rate-limits.js'
import type { RequestContext } from '../request-context.js'
import { type Form, formField } from '../request-input.js'
import { JWT_BEARER_ASSERTION_TYPE } from './assertions/assertion.js'
import { claimedClientId } from './authentication.js'

export const CAIP_122_ASSERTION_TYPE = 'urn:gatehouse:params:oauth:client-assertion-type:caip-122'

/**
 * Verifies a wallet assertion, replaces it in the form, and sets `request.walletProof` if it is valid.
 * @returns the form for oidc-provider, unchanged if it has no wallet assertion
 * @throws ApiError too_many_requests
 */
export async function authenticateWallet(request: RequestContext, ctx: KoaContext, form: Form): Promise<Form> {
  if (formField(form, 'client_assertion_type') !== CAIP_122_ASSERTION_TYPE) return form
  const { context, runtime } = request
  // Any caller can cause an expensive verification of a signature, so assertions are rate-limited.
  await consumeRateLimit(request, ctx, 'wallet_nonce', `${networkOf(context.request.ip)} assertion`)
  const { client_assertion, ...otherFields } = form
  const agentId = formField(form, 'client_id')
  const signedMessage = typeof client_assertion === 'string' ? readAssertion(client_assertion) : undefined
  // RFC 6749 section 2.3 allows one authentication method per request. If there is another one, the secret is passed
  // twice, because oidc-provider rejects a repeated parameter.
  const isOnlyMethod = ctx.req.headers.authorization === undefined && form['client_secret'] === undefined
  const secret = randomSecret()
  const libraryForm = isOnlyMethod
    ? { ...otherFields, client_secret: secret }
    : { ...otherFields, client_secret: [secret, secret] }
  if (!isOnlyMethod || !isId('agt', agentId) || !signedMessage) return libraryForm
  const issuer = { issuerId: runtime.issuer.id, url: runtime.url }
  const verifierId = await redeemChallenge(context, issuer, agentId, signedMessage)
  if (verifierId !== null) request.walletProof = { clientId: agentId, verifierId, secret }
  return libraryForm
}

/**
 * Decodes an assertion, which must be canonical base64url of a JSON object with exactly the members `message`,
 * `signature` and `type`. Returns undefined for any other text.
 */
function readAssertion(text: string): SignedMessage | undefined {
  if (text.length > limits.maxWalletAssertionLength) return undefined
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.toString('base64url') !== text) return undefined
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const { message, signature, type, ...unknownMembers } = value as Record<string, unknown>
  if (typeof message !== 'string' || typeof signature !== 'string' || typeof type !== 'string') return undefined
  return Object.keys(unknownMembers).length === 0 ? { message, signature, type } : undefined
}

/** How an agent authenticates with an assertion, by `client_assertion_type`. */
const assertionMethods: Readonly<Record<string, AuthenticationMethod>> = {
  [CAIP_122_ASSERTION_TYPE]: 'wallet',
  [JWT_BEARER_ASSERTION_TYPE]: 'public_key',
}

/** Records the failed authentication of the agent that the request names, if any (docs/contract.md#event-records). */
export async function recordClaimedAgentRefusal(
  { context, runtime }: RequestContext,
  ctx: OpenIdContext,
  form: Form,
): Promise<void> {
  const agentId = claimedClientId(ctx, form)
  if (!isId('agt', agentId)) return
  const { id: issuerId, accountId } = runtime.issuer
  const method = assertionMethods[formField(form, 'client_assertion_type') ?? ''] ?? 'secret'
  await recordAgentAuthenticationFailed(context, { accountId, issuerId, agentId }, method)
}
