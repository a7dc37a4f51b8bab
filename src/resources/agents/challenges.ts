/**
 * Agents that prove themselves with a wallet (decisions D24): a challenge is given to whoever asks, whether or not there
 * is such an agent, and is good once, for five minutes, for the agent, network and address that it was asked for.
 */
import { randomBytes } from 'node:crypto'
import { invalidField } from '../../kernel/errors.js'
import { MINUTE } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { sha256 } from '../../platform/secrets.js'
import { sweep } from '../../platform/sweep.js'
import { printMessage, readMessage, type SignInMessage } from './sign-in-message.js'
import { schemes } from './wallet-signatures.js'
import { walletKey } from './wallets.js'

/** Milliseconds; also how old a message may be. */
export const CHALLENGE_LIFE = 5 * MINUTE

/** The issuer, with its address. */
export interface SignInPlace {
  issuerId: string
  url: string
}

export interface Wallet {
  agentId: string
  /** CAIP-2. */
  network: string
  address: string
}

export interface Challenge {
  nonce: string
  /** What to sign. */
  message: string
  /** Unix milliseconds. */
  expiresAt: number
}

/** What a message of this issuer says, whoever writes it down. */
const terms = (url: string, agentId: string) => ({
  domain: new URL(url).host,
  uri: `${url}/token`,
  resource: `urn:gatehouse:agent:${agentId}`,
})

const insertText = `
  INSERT INTO agent_challenges (issuer_id, nonce_hash, agent_id, network, address_key, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6)`

/**
 * Makes a challenge. Says nothing about whether the agent or its wallet exists: neither is looked up.
 * @throws invalid_request for a network whose wallets cannot sign in, or an address that is none of that network
 */
export async function issueChallenge(
  context: Context,
  { issuerId, url }: SignInPlace,
  { agentId, network, address }: Wallet,
): Promise<Challenge> {
  const addressKey = walletKey(network, address)
  const [namespace = '', chainId = ''] = network.split(':')
  const scheme = schemes[namespace]
  if (!scheme) {
    const known = Object.keys(schemes).join(' and ')
    throw invalidField('network', 'unsupported', `has wallets that cannot sign in; those of ${known} can.`)
  }
  const nonce = randomBytes(24).toString('hex')
  const now = context.now()
  const expiresAt = now + CHALLENGE_LIFE
  const values = [issuerId, sha256(nonce), agentId, network, addressKey, expiresAt]
  await context.tools.query('agent-challenge', insertText, values)
  const { chain } = scheme
  const message: SignInMessage = {
    ...terms(url, agentId),
    chain,
    address: scheme.shown(address),
    chainId,
    nonce,
    issuedAt: now,
    expiresAt,
  }
  return { nonce, message: printMessage(message, `Sign in as the agent ${agentId}.`), expiresAt }
}

/** What comes back: the message that was signed, and the signature as wallets write it. */
export interface SignedMessage {
  message: string
  signature: string
  type: string
}

// Security rule 1: whether the nonce is unused, and whose, is asked by the statement that uses it up.
const redeemText = `
  UPDATE agent_challenges c SET consumed_at = $6
  FROM agents a JOIN agent_verifiers v ON v.agent_id = a.id AND v.type = 'wallet'
  WHERE c.issuer_id = $1 AND c.nonce_hash = $2 AND c.consumed_at IS NULL AND c.expires_at > $6
    AND c.agent_id = $3 AND c.network = $4 AND c.address_key = $5
    AND a.id = c.agent_id AND a.issuer_id = c.issuer_id AND a.status = 'active'
    AND v.network = c.network AND v.address_key = c.address_key
  RETURNING v.id`

/**
 * Takes a signed challenge.
 * @returns the id of the agent's wallet that signed it; null for whatever is not exactly that
 */
export async function redeemChallenge(
  context: Context,
  { issuerId, url }: SignInPlace,
  agentId: string,
  { message, signature, type }: SignedMessage,
): Promise<string | null> {
  // 1. The form.
  const said = readMessage(message)
  if (!said) return null

  // 2. Every field: for this issuer, this agent, now.
  const [namespace, scheme] = Object.entries(schemes).find(([, one]) => one.chain === said.chain) ?? []
  if (!namespace || !scheme?.types.includes(type)) return null
  const expected = terms(url, agentId)
  if (said.domain !== expected.domain || said.uri !== expected.uri || said.resource !== expected.resource) return null
  const now = context.now()
  // Issued in the past, over in the future, and no more than five minutes between: so it is no older than that.
  if (said.issuedAt > now || said.expiresAt <= now) return null
  if (said.expiresAt - said.issuedAt > CHALLENGE_LIFE) return null
  const network = `${namespace}:${said.chainId}`
  let addressKey: string
  try {
    addressKey = walletKey(network, said.address)
  } catch {
    return null
  }

  // 3. The signature, before the nonce is touched: what nobody signed uses nothing up.
  if (!scheme.fits(said.address, message, signature)) return null

  // 4. The nonce, once.
  const values = [issuerId, sha256(said.nonce), agentId, network, addressKey, now]
  const [row] = await context.tools.query<{ id: string }>('agent-challenge-redeem', redeemText, values)
  return row?.id ?? null
}

/** Removes challenges whose time is over. A periodic job. */
export async function purgeChallenges(context: Context): Promise<void> {
  await sweep(context, 'agent_challenges', 'expires_at < $1::bigint', context.now())
}
