/**
 * Wallet authentication of agents (docs/contract.md#wallet-authentication-of-agents). A challenge is issued to any
 * caller, also for an agent that does not exist. A challenge can be used once, within five minutes, for the agent,
 * network and address for which it was issued.
 */
import { randomBytes } from 'node:crypto'
import { invalidField } from '../../kernel/errors.js'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { sha256 } from '../../platform/crypto/secrets.js'
import { deleteInBatches } from '../../platform/jobs/batch-delete.js'
import { formatSignInMessage, parseSignInMessage, type SignInMessage } from './sign-in-message.js'
import { normalizeWalletAddress } from './wallet-addresses.js'
import { signatureSchemes } from './wallet-signatures.js'

export interface IssuerWithUrl {
  issuerId: string
  /** The issuer identifier. */
  url: string
}

/** A wallet of an agent. */
export interface Wallet {
  agentId: string
  /** The network of the wallet: a CAIP-2 chain ID. */
  network: string
  address: string
}

export interface Challenge {
  nonce: string
  /** The text that the wallet must sign. */
  message: string
  /** When the challenge expires (Unix milliseconds). */
  expiresAt: number
}

/** Returns the fields of a message that depend on the issuer and the agent. @param url the issuer identifier */
const expectedFields = (url: string, agentId: string) => ({
  domain: new URL(url).host,
  uri: `${url}/token`,
  resource: `urn:gatehouse:agent:${agentId}`,
})

const insertText = `
  INSERT INTO agent_challenges (issuer_id, nonce_hash, agent_id, network, address_key, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6)`

/**
 * Issues a challenge. Does not look up the agent, so the response does not show whether the agent exists.
 * @throws invalid_request for a network whose signatures are not supported, or an invalid address of the network
 */
export async function issueChallenge(
  context: Context,
  { issuerId, url }: IssuerWithUrl,
  { agentId, network, address }: Wallet,
): Promise<Challenge> {
  const addressKey = normalizeWalletAddress(network, address)
  const [namespace = '', chainId = ''] = network.split(':')
  const scheme = signatureSchemes[namespace]
  if (!scheme) {
    const supported = Object.keys(signatureSchemes).join(' or ')
    throw invalidField(
      'network',
      'unsupported',
      `is not supported for wallet authentication. Use a CAIP-2 chain id in the namespace ${supported}.`,
    )
  }
  const nonce = randomBytes(24).toString('hex')
  const now = context.now()
  const expiresAt = now + limits.agentChallengeLifetime
  const values = [issuerId, sha256(nonce), agentId, network, addressKey, expiresAt]
  await context.database.query('agent-challenge', insertText, values)
  const { chain } = scheme
  const message: SignInMessage = {
    ...expectedFields(url, agentId),
    chain,
    address: scheme.formatAddress(address),
    chainId,
    nonce,
    issuedAt: now,
    expiresAt,
  }
  return { nonce, message: formatSignInMessage(message, `Sign in as the agent ${agentId}.`), expiresAt }
}

/** A signed challenge. */
export interface SignedMessage {
  message: string
  /** The signature in the format of the wallet. */
  signature: string
  /** The type of the signature, such as `eip191` (`SignatureScheme.types`). */
  type: string
}

// One statement checks and consumes the nonce, so that it can be used only once (docs/contract.md#single-use-values).
const redeemText = `
  UPDATE agent_challenges c SET consumed_at = $6
  FROM agents a JOIN agent_verifiers v ON v.agent_id = a.id AND v.type = 'wallet'
  WHERE c.issuer_id = $1 AND c.nonce_hash = $2 AND c.consumed_at IS NULL AND c.expires_at > $6
    AND c.agent_id = $3 AND c.network = $4 AND c.address_key = $5
    AND a.id = c.agent_id AND a.issuer_id = c.issuer_id AND a.status = 'active'
    AND v.network = c.network AND v.address_key = c.address_key
  RETURNING v.id`

/**
 * Verifies a signed challenge and consumes its nonce.
 * @returns the id of the wallet verifier; null if any check fails
 */
export async function redeemChallenge(
  context: Context,
  { issuerId, url }: IssuerWithUrl,
  agentId: string,
  { message, signature, type }: SignedMessage,
): Promise<string | null> {
  // 1. Parse the message.
  const parsed = parseSignInMessage(message)
  if (!parsed) return null

  // 2. Check every field against this issuer, this agent and the current time.
  const [namespace, scheme] = Object.entries(signatureSchemes).find(([, one]) => one.chain === parsed.chain) ?? []
  if (!namespace || !scheme?.types.includes(type)) return null
  const expected = expectedFields(url, agentId)
  if (parsed.domain !== expected.domain || parsed.uri !== expected.uri || parsed.resource !== expected.resource)
    return null
  const now = context.now()
  // The message must be valid now, and for at most five minutes in total, so it was issued at most five minutes ago.
  if (parsed.issuedAt > now || parsed.expiresAt <= now) return null
  if (parsed.expiresAt - parsed.issuedAt > limits.agentChallengeLifetime) return null
  const network = `${namespace}:${parsed.chainId}`
  let addressKey: string
  try {
    addressKey = normalizeWalletAddress(network, parsed.address)
  } catch {
    return null
  }

  // 3. Verify the signature before consuming the nonce, so that an invalid signature does not consume the nonce.
  if (!scheme.verify(parsed.address, message, signature)) return null

  // 4. Consume the nonce.
  const values = [issuerId, sha256(parsed.nonce), agentId, network, addressKey, now]
  const [row] = await context.database.query<{ id: string }>('agent-challenge-redeem', redeemText, values)
  return row?.id ?? null
}

/** Deletes expired challenges. Periodic job. */
export async function purgeChallenges(context: Context): Promise<void> {
  await deleteInBatches(context, 'agent_challenges', 'expires_at < $1::bigint', context.now())
}
