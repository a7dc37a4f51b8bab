/**
 * An x402 facilitator on loopback, with a chain of its own: it checks signatures (EIP-712, EIP-3009) and nonces as a
 * token contract does, and can be told to fail, stall, lie, answer late or lose its answer.
 */

import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import type { Loose } from './api.js'

export const NETWORK = 'eip155:84532'
export const ASSET = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
export const PAY_TO = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C'
const EXTRA = { name: 'USDC', version: '2' }

const hex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`
const bytesOf = (text: string): Buffer => Buffer.from(text.slice(2), 'hex')
const hash = (...parts: Uint8Array[]): Uint8Array => keccak_256(Buffer.concat(parts))
const textHash = (text: string): Uint8Array => hash(Buffer.from(text))
const word = (value: bigint | string | number): Buffer =>
  Buffer.from(
    (typeof value === 'string' && value.startsWith('0x') ? value.slice(2) : BigInt(value).toString(16)).padStart(
      64,
      '0',
    ),
    'hex',
  )
const addressOf = (publicKey: Uint8Array): string => hex(hash(publicKey.subarray(1)).subarray(12))

interface Authorization {
  from: string
  to: string
  value: string
  validAfter: string
  validBefore: string
  nonce: string
}

/** What a wallet signs: EIP-712 of TransferWithAuthorization (EIP-3009), for the token of these requirements. */
function digestOf(authorization: Authorization, { network, asset, extra }: Loose): Uint8Array {
  const domain = hash(
    textHash('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'),
    textHash(extra.name),
    textHash(extra.version),
    word(network.split(':')[1]),
    word(asset),
  )
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const message = hash(
    textHash(
      'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
    ),
    ...[word(from), word(to), word(value), word(validAfter), word(validBefore), word(nonce)],
  )
  return hash(Buffer.from('1901', 'hex'), domain, message)
}

export interface Payer {
  address: string
  /** A header that pays what a challenge offers; without one, what these tests' deployments offer for an amount. */
  pay(amount: number, more?: PaymentOptions): string
}

export interface PaymentOptions {
  requirements?: Loose
  identifier?: string
  /** Changes to the payment after it was signed. */
  change?: (payment: Loose) => void
  nonce?: string
}

export const requirementsOf = (amount: number | string) => ({
  scheme: 'exact',
  network: NETWORK,
  amount: String(amount),
  asset: ASSET,
  payTo: PAY_TO,
  maxTimeoutSeconds: 60,
  extra: EXTRA,
})

export const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')
export const decode = (header: string | null): Loose => JSON.parse(Buffer.from(header ?? '', 'base64').toString())

/** A wallet with a key of its own. */
export function newPayer(secret = secp256k1.utils.randomSecretKey()): Payer {
  const address = addressOf(secp256k1.getPublicKey(secret, false))
  return {
    address,
    pay(amount, { requirements = requirementsOf(amount), identifier, change, nonce = hex(randomBytes(32)) } = {}) {
      const now = Math.floor(Date.now() / 1000)
      const authorization: Authorization = {
        from: address,
        to: requirements.payTo,
        value: requirements.amount,
        validAfter: String(now - 60),
        validBefore: String(now + 3600),
        nonce,
      }
      const digest = digestOf(authorization, requirements)
      const [recovery, ...rs] = secp256k1.sign(digest, secret, { prehash: false, format: 'recovered' })
      const signature = hex(Uint8Array.from([...rs, 27 + recovery!]))
      const info = { required: false, id: identifier }
      const payment: Loose = {
        x402Version: 2,
        accepted: requirements,
        payload: { signature, authorization },
        ...(identifier !== undefined && { extensions: { 'payment-identifier': { info, schema: {} } } }),
      }
      change?.(payment)
      return encode(payment)
    },
  }
}

type Question = 'verify' | 'settle'
/** What it does instead of the truth: an answer, or nothing and then the end of the connection, or silence. */
export type Mood =
  | { status?: number; body: string | object }
  | 'hang_up'
  | 'silence'
  /** Does it, but the answer gets lost. */
  | 'lose_answer'
  | ((truth: Loose) => Loose | Promise<Loose>)

export interface Facilitator {
  url: string
  /** For startApp. */
  env: Record<string, string>
  /** What it does when this wallet's payments come, question by question; the moods are used up in order. */
  tell(payer: Payer, question: Question, ...moods: Mood[]): void
  /** How often it was asked about this wallet's payments. */
  asked(payer: Payer, question: Question): number
  /** Transfers that really happened, of this wallet. */
  transfers(payer: Payer): { transaction: string; value: number }[]
  close(): Promise<void>
}

export async function startFacilitator(port = 0): Promise<Facilitator> {
  const moods = new Map<string, Mood[]>()
  const counts = new Map<string, number>()
  /** By payer and nonce, as the token contract keeps them. */
  const used = new Map<string, { transaction: string; value: number; from: string }>()
  const keyOf = ({ from, nonce }: Authorization) => `${from}:${nonce}`.toLowerCase()

  function faultIn({ paymentPayload, paymentRequirements }: Loose): string | undefined {
    const { authorization, signature } = paymentPayload.payload as { authorization: Authorization; signature: string }
    if (paymentRequirements.scheme !== 'exact' || paymentRequirements.network !== NETWORK) return 'invalid_network'
    if (authorization.to.toLowerCase() !== paymentRequirements.payTo.toLowerCase())
      return 'invalid_exact_evm_payload_recipient'
    if (authorization.value !== paymentRequirements.amount) return 'invalid_exact_evm_payload_authorization_value'
    const now = Math.floor(Date.now() / 1000)
    if (Number(authorization.validBefore) <= now || Number(authorization.validAfter) > now) {
      return 'invalid_exact_evm_payload_authorization_valid_before'
    }
    const bytes = bytesOf(signature)
    const recovered = Buffer.concat([Buffer.from([bytes[64]! - 27]), bytes.subarray(0, 64)])
    try {
      const digest = digestOf(authorization, paymentRequirements)
      const key = secp256k1.Signature.fromBytes(recovered, 'recovered').recoverPublicKey(digest).toBytes(false)
      if (addressOf(key) === authorization.from.toLowerCase()) return undefined
    } catch {}
    return 'invalid_exact_evm_payload_signature'
  }

  function answer(question: Question, body: Loose): Loose {
    const fault = faultIn(body)
    const { authorization } = body.paymentPayload.payload
    const payer = authorization.from
    const before = used.get(keyOf(authorization))
    if (question === 'verify') {
      const reason = fault ?? (before ? 'invalid_exact_evm_nonce_already_used' : undefined)
      return reason ? { isValid: false, invalidReason: reason, payer } : { isValid: true, payer }
    }
    const no = (errorReason: string, transaction = '') => ({
      success: false,
      errorReason,
      transaction,
      network: NETWORK,
      payer,
    })
    if (fault) return no(fault)
    if (before) return no('payment_already_settled', before.transaction)
    const transaction = hex(randomBytes(32))
    used.set(keyOf(authorization), { transaction, value: Number(authorization.value), from: payer.toLowerCase() })
    return { success: true, transaction, network: NETWORK, payer }
  }

  const server = createServer((request, response) => {
    void (async () => {
      const body = JSON.parse(await textOf(request))
      const question = request.url!.slice(1) as Question
      const about = `${question} ${String(body.paymentPayload.payload.authorization?.from).toLowerCase()}`
      counts.set(about, (counts.get(about) ?? 0) + 1)
      const mood = moods.get(about)?.shift()
      if (mood === 'silence') return
      if (mood === 'hang_up') return void request.socket.destroy()
      const lies = typeof mood === 'object'
      const truth = lies ? undefined : answer(question, body)
      if (mood === 'lose_answer') return void request.socket.destroy()
      const said = lies ? mood.body : typeof mood === 'function' ? await mood(truth) : truth
      response.writeHead(lies ? (mood.status ?? 200) : 200, { 'content-type': 'application/json' })
      response.end(typeof said === 'string' ? said : JSON.stringify(said))
    })().catch(() => request.socket.destroy())
  })
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    env: {
      X402_FACILITATOR_URL: url,
      X402_PAY_TO: PAY_TO,
      X402_NETWORK: NETWORK,
      X402_ASSET: ASSET,
      ALLOW_PRIVATE_NETWORKS: 'true',
    },
    tell: ({ address }, question, ...list) => void moods.set(`${question} ${address}`, list),
    asked: ({ address }, question) => counts.get(`${question} ${address}`) ?? 0,
    transfers: ({ address }) => [...used.values()].filter(({ from }) => from === address),
    close: () =>
      new Promise((done) => {
        server.closeAllConnections()
        server.close(() => done())
      }),
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
