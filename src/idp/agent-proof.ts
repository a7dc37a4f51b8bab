/**
 * Agents that prove themselves with a wallet (decisions D24, RFC 7521 4.2). The library knows nothing of such proofs, so
 * they are looked at before it, and stand in its form as a secret that was made for this one request. A proof that does
 * not hold becomes a secret that fits nothing, so that every refusal is the same.
 */

import type { Context as KoaContext } from 'koa'
import { isId } from '../kernel/ids.js'
import { networkOf } from '../kernel/network.js'
import type { Context } from '../platform/context.js'
import { randomSecret } from '../platform/secrets.js'
import { agentRefused } from '../resources/agents/authentication.js'
import { redeemChallenge, type SignedMessage } from '../resources/agents/challenges.js'
import { claimedClient } from './client-authentication.js'
import type { OpenIdContext } from './library.js'
import { spend } from './limits.js'
import { type Form, field } from './request.js'
import type { Runtime } from './runtime.js'
import { scope, type WalletProof } from './scope.js'

export const CAIP_122 = 'urn:gatehouse:params:oauth:client-assertion-type:caip-122'

/** An assertion is three short texts; nobody needs more than this many characters for them. */
const MAX_ASSERTION = 8192

/**
 * Takes the place of a wallet's assertion in a form.
 * @returns the form for the library and what was proved, if anything was; undefined when the form holds no assertion
 * @throws ApiError too_many_requests
 */
export async function proveWallet(
  ctx: KoaContext,
  context: Context,
  runtime: Runtime,
  form: Form,
): Promise<{ form: Form; proof: WalletProof | undefined } | undefined> {
  if (field(form, 'client_assertion_type') !== CAIP_122) return undefined
  // Looking at a signature is work that anybody can ask for.
  await spend(ctx, context, 'wallet_nonce', `${networkOf(context.request.ip)} assertion`)
  const { client_assertion, ...others } = form
  const agentId = field(form, 'client_id')
  const signed = typeof client_assertion === 'string' ? readAssertion(client_assertion) : undefined
  // RFC 6749 2.3: one way to authenticate per request. With a second one the library sees both and refuses.
  const alone = ctx.req.headers.authorization === undefined && form['client_secret'] === undefined
  const secret = randomSecret()
  const sent = alone ? { ...others, client_secret: secret } : { ...others, client_secret: [secret, secret] }
  if (!alone || !isId('agt', agentId) || !signed) return { form: sent, proof: undefined }
  const place = { issuerId: runtime.issuer.id, url: runtime.url }
  const verifierId = await redeemChallenge(context, place, agentId, signed)
  return { form: sent, proof: verifierId === null ? undefined : { clientId: agentId, verifierId, secret } }
}

/** base64url, in its one spelling, of a JSON object with exactly these three texts. */
function readAssertion(text: string): SignedMessage | undefined {
  if (text.length > MAX_ASSERTION) return undefined
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.toString('base64url') !== text) return undefined
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const { message, signature, type, ...more } = value as Record<string, unknown>
  if (typeof message !== 'string' || typeof signature !== 'string' || typeof type !== 'string') return undefined
  return Object.keys(more).length === 0 ? { message, signature, type } : undefined
}

/** Somebody came as an agent and was turned away: the trail says so (decisions D3). */
export async function noteRefusedAgent(ctx: OpenIdContext, form: Form): Promise<void> {
  const agentId = claimedClient(ctx, form)
  if (!isId('agt', agentId)) return
  const { context, runtime } = scope()
  const { id: issuerId, accountId } = runtime.issuer
  const method = field(form, 'client_assertion_type') === CAIP_122 ? 'wallet' : 'secret'
  await agentRefused(context, { accountId, issuerId, agentId }, method)
}
