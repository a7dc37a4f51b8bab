/**
 * An x402 facilitator on a loopback address with a simulated blockchain. It checks signatures (EIP-712, EIP-3009) and
 * nonces as a token contract does. A test can set another response, a late response, no response, or a closed
 * connection.
 */

import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import type { AnyJson } from './api.js'

export const NETWORK = 'eip155:84532'
export const ASSET = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
export const PAY_TO = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C'
const EXTRA = { name: 'USDC', version: '2' }

const hex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`
const bytesOf = (text: string): Buffer => Buffer.from(text.slice(2), 'hex')
const hash = (...parts: Uint8Array[]): Uint8Array => keccak_256(Buffer.concat(parts))
const textHash = (text: string): Uint8Array => hash(Buffer.from(text))
const abiWord = (value: bigint | string | number): Buffer =>
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

/**
 * Returns the EIP-712 hash of TransferWithAuthorization (EIP-3009), which a wallet signs. The payment requirements name
 * the token contract.
 */
function digestOf(authorization: Authorization, { network, asset, extra }: AnyJson): Uint8Array {
  const domain = hash(
    textHash('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'),
    textHash(extra.name),
    textHash(extra.version),
    abiWord(network.split(':')[1]),
    abiWord(asset),
  )
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const message = hash(
    textHash(
      'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
    ),
    ...[abiWord(from), abiWord(to), abiWord(value), abiWord(validAfter), abiWord(validBefore), abiWord(nonce)],
  )
  return hash(Buffer.from('1901', 'hex'), domain, message)
}

export interface Payer {
  address: string
  /**
   * Returns a signed payment for the header PAYMENT-SIGNATURE.
   * @param amount micro-USD; ignored if `options.requirements` is given
   */
  createPaymentHeader(amount: number, options?: PaymentOptions): string
}

export interface PaymentOptions {
  /** Payment requirements of a response with status 402; by default those of test deployments for the amount. */
  requirements?: AnyJson
  /** The id of the extension `payment-identifier`; without it the payment has no extension. */
  identifier?: string
  /** Changes the payment after it was signed. */
  modify?: (payment: AnyJson) => void
  /** Nonce of the EIP-3009 authorization in hexadecimal; random by default. */
  nonce?: string
}

/** Returns the payment requirements that a test deployment sends for an amount in micro-USD. */
export const createPaymentRequirements = (amount: number | string) => ({
  scheme: 'exact',
  network: NETWORK,
  amount: String(amount),
  asset: ASSET,
  payTo: PAY_TO,
  maxTimeoutSeconds: 60,
  extra: EXTRA,
})

/** Encodes a value as a payment header: base64 of JSON. */
export const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')
export const decode = (header: string | null): AnyJson => JSON.parse(Buffer.from(header ?? '', 'base64').toString())

/** Creates a wallet that signs payments, by default with a new key. */
export function createPayer(secret = secp256k1.utils.randomSecretKey()): Payer {
  const address = addressOf(secp256k1.getPublicKey(secret, false))
  return {
    address,
    createPaymentHeader(
      amount,
      { requirements = createPaymentRequirements(amount), identifier, modify, nonce = hex(randomBytes(32)) } = {},
    ) {
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
      const payment: AnyJson = {
        x402Version: 2,
        accepted: requirements,
        payload: { signature, authorization },
        ...(identifier !== undefined && { extensions: { 'payment-identifier': { info, schema: {} } } }),
      }
      modify?.(payment)
      return encode(payment)
    },
  }
}

type FacilitatorOperation = 'verify' | 'settle'
/** What the facilitator does instead of sending the correct response. */
export type FacilitatorBehavior =
  /** Sends this response, without verifying or settling. */
  | { status?: number; body: string | object; headers?: Record<string, string> }
  /** Closes the connection, without verifying or settling. */
  | 'hang_up'
  /** Sends no response, without verifying or settling. */
  | 'silence'
  /** Verifies or settles the payment, and closes the connection without a response. */
  | 'lose_answer'
  /** Verifies or settles the payment, and sends the returned body instead of the correct one. */
  | ((correctBody: AnyJson) => AnyJson | Promise<AnyJson>)

export interface Facilitator {
  url: string
  /** Environment variables for startApp. */
  env: Record<string, string>
  /**
   * Sets the behaviors for the next requests about payments of this wallet, one for each request, in order. Later
   * requests get the correct response.
   */
  queueBehaviors(payer: Payer, operation: FacilitatorOperation, ...behaviors: FacilitatorBehavior[]): void
  /** Returns the number of requests about payments of this wallet. */
  callCount(payer: Payer, operation: FacilitatorOperation): number
  /** Returns the settled transfers of this wallet, with the value in micro-USD. */
  transfers(payer: Payer): { transaction: string; value: number }[]
  close(): Promise<void>
}

/** @param port 0 for a free port */
export async function startFacilitator(port = 0): Promise<Facilitator> {
  const queuedBehaviors = new Map<string, FacilitatorBehavior[]>()
  const callCounts = new Map<string, number>()
  /** Settled transfers by payer and nonce: the token contract executes each nonce of a payer once. */
  const settledTransfers = new Map<string, { transaction: string; value: number; from: string }>()
  const nonceKeyOf = ({ from, nonce }: Authorization) => `${from}:${nonce}`.toLowerCase()

  function paymentError({ paymentPayload, paymentRequirements }: AnyJson): string | undefined {
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

  function handle(operation: FacilitatorOperation, body: AnyJson): AnyJson {
    const error = paymentError(body)
    const { authorization } = body.paymentPayload.payload
    const payer = authorization.from
    const previous = settledTransfers.get(nonceKeyOf(authorization))
    if (operation === 'verify') {
      const reason = error ?? (previous ? 'invalid_exact_evm_nonce_already_used' : undefined)
      return reason ? { isValid: false, invalidReason: reason, payer } : { isValid: true, payer }
    }
    const failure = (errorReason: string, transaction = '') => ({
      success: false,
      errorReason,
      transaction,
      network: NETWORK,
      payer,
    })
    if (error) return failure(error)
    if (previous) return failure('payment_already_settled', previous.transaction)
    const transaction = hex(randomBytes(32))
    settledTransfers.set(nonceKeyOf(authorization), {
      transaction,
      value: Number(authorization.value),
      from: payer.toLowerCase(),
    })
    return { success: true, transaction, network: NETWORK, payer }
  }

  const server = createServer((request, response) => {
    void (async () => {
      const body = JSON.parse(await readBody(request))
      const operation = request.url!.slice(1) as FacilitatorOperation
      const key = `${operation} ${String(body.paymentPayload.payload.authorization?.from).toLowerCase()}`
      callCounts.set(key, (callCounts.get(key) ?? 0) + 1)
      const behavior = queuedBehaviors.get(key)?.shift()
      if (behavior === 'silence') return
      if (behavior === 'hang_up') return void request.socket.destroy()
      const isOverridden = typeof behavior === 'object'
      const correctResponse = isOverridden ? undefined : handle(operation, body)
      if (behavior === 'lose_answer') return void request.socket.destroy()
      const responseBody = isOverridden
        ? behavior.body
        : typeof behavior === 'function'
          ? await behavior(correctResponse)
          : correctResponse
      response.writeHead(isOverridden ? (behavior.status ?? 200) : 200, {
        'content-type': 'application/json',
        ...(isOverridden && behavior.headers),
      })
      response.end(typeof responseBody === 'string' ? responseBody : JSON.stringify(responseBody))
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
    queueBehaviors: ({ address }, operation, ...list) => void queuedBehaviors.set(`${operation} ${address}`, list),
    callCount: ({ address }, operation) => callCounts.get(`${operation} ${address}`) ?? 0,
    transfers: ({ address }) => [...settledTransfers.values()].filter(({ from }) => from === address),
    close: () =>
      new Promise((done) => {
        server.closeAllConnections()
        server.close(() => done())
      }),
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
