/**
 * Wallet authentication of agents (docs/contract.md#wallet-authentication-of-agents): wallets of the network `eip155`
 * sign with EIP-191, wallets of the network `solana` with Ed25519.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { signatureSchemes } from '../../../src/resources/agents/wallet-signatures.js'
import { expectStatus } from '../../setup/actors.js'
import type { AnyJson } from '../../setup/api.js'
import { eventsRecordedFromNow } from '../../setup/recorded-events.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { base58, encodeAssertion, ethereumWallet, solanaWallet, type TestWallet } from '../../setup/wallets.js'
import { type IdpResponse, jwtClaims, Realm } from '../realm.js'

const CAIP_122 = 'urn:gatehouse:params:oauth:client-assertion-type:caip-122'

let app: TestApp
let realm: Realm
let twin: Realm
let agents: string
let agent: string
let ethereum: TestWallet & { id: string }
let solana: TestWallet & { id: string }

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  twin = new Realm(await app.startSecondApp(), realm.tenant)
  agents = `${realm.tenant.I}/agents`
})
afterAll(() => app.close())
beforeEach(async () => {
  agent = await create()
  ethereum = await enroll(agent, ethereumWallet())
  solana = await enroll(agent, solanaWallet())
})

const owner = () => realm.tenant.owner
const create = async (): Promise<string> =>
  expectStatus(await owner().post(agents, { name: 'Trader', scopes: ['orders:read'] }), 201).data.id
async function enroll(id: string, wallet: TestWallet) {
  const { network, address } = wallet
  const path = `${agents}/${id}/verifiers`
  return {
    ...wallet,
    id: expectStatus(await owner().post(path, { type: 'wallet', name: null, network, address }), 201).data.id,
  }
}

async function challenge(wallet: TestWallet, client_id = agent, at = realm): Promise<AnyJson> {
  const { network, address } = wallet
  const response = await at.postForm('/agents/challenge', undefined, { client_id, network, address })
  return expectStatus({ ...response, text: JSON.stringify(response.body) }, 200)
}

/** Signs a message and returns it as `client_assertion`. `more` replaces or complements members of the assertion. */
const signed = (wallet: TestWallet, message: string, more: object = {}) =>
  encodeAssertion({ message, signature: wallet.sign(message), type: wallet.type, ...more })

const redeem = (client_assertion: string, params: Record<string, string> = {}, at = realm): Promise<IdpResponse> =>
  at.postForm('/token', undefined, {
    grant_type: 'client_credentials',
    client_id: agent,
    client_assertion_type: CAIP_122,
    client_assertion,
    ...params,
  })

describe('POST /{issuer_id}/agents/challenge', () => {
  test('returns nonce, message and expires_at; the message is exactly EIP-4361, with a checksummed address', async () => {
    const before = app.clock.now()
    const { nonce, message, expires_at, ...more } = await challenge(ethereum)
    expect(more).toEqual({})
    expect(expires_at - before).toBeGreaterThanOrEqual(300_000)
    expect(expires_at - app.clock.now()).toBeLessThanOrEqual(300_000)
    expect(nonce).toMatch(/^[0-9a-f]{32,}$/)
    const { host } = new URL(realm.url)
    const shown = signatureSchemes['eip155']!.formatAddress(ethereum.address)
    expect(message).toBe(
      `${host} wants you to sign in with your Ethereum account:
${shown}

Sign in as the agent ${agent}.

URI: ${realm.url}/token
Version: 1
Chain ID: 8453
Nonce: ${nonce}
Issued At: ${new Date(expires_at - 300_000).toISOString()}
Expiration Time: ${new Date(expires_at).toISOString()}
Resources:
- urn:gatehouse:agent:${agent}`,
    )
    expect((await challenge(solana)).message).toMatch(
      /^127\.0\.0\.1:\d+ wants you to sign in with your Solana account:\n\w{32,44}\n[\s\S]*\nChain ID: 5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp\n/,
    )
  })

  test('always 200, with the same members, for unknown agents and wallets, and agents that cannot authenticate', async () => {
    const known = await challenge(ethereum)
    expectStatus(await owner().patch(`${agents}/${agent}`, { status: 'suspended', status_reason: 'test' }), 200)
    for (const body of [
      await challenge(ethereum),
      await challenge(ethereum, `agt_${'0'.repeat(26)}`),
      await challenge(ethereumWallet()),
    ]) {
      expect(Object.keys(body)).toEqual(Object.keys(known))
      expect(body.nonce).toHaveLength(known.nonce.length)
      expect(body.nonce).not.toBe(known.nonce)
    }
  })

  test.each<[string, Record<string, string>]>([
    ['no agent id', { client_id: 'cli_x' }],
    ['no client_id', { client_id: '' }],
    ['no CAIP-2 network', { network: 'ethereum' }],
    ['an unsupported network', { network: 'cosmos:hub' }],
    ['an address that is invalid for the network', { address: '0x1' }],
    ['no address', { address: '' }],
    ['NUL', { address: 'a\u0000' }],
  ])('400 for %s', async (_, params) => {
    const { network, address } = ethereum
    const response = await realm.postForm('/agents/challenge', undefined, {
      client_id: agent,
      network,
      address,
      ...params,
    })
    expect([response.status, response.body.error]).toEqual([400, 'invalid_request'])
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  test('POST only, a form only, of an active issuer', async () => {
    expect((await fetch(`${realm.url}/agents/challenge`)).status).toBe(405)
    expect((await fetch(`${realm.url}/agents/challenge`, { method: 'POST', body: '{}' })).status).toBe(400)
    expectStatus(await owner().patch(realm.tenant.I, { status: 'disabled' }), 200)
    const { network, address } = ethereum
    expect((await realm.postForm('/agents/challenge', undefined, { client_id: agent, network, address })).status).toBe(
      403,
    )
    expectStatus(await owner().patch(realm.tenant.I, { status: 'active' }), 200)
  })
})

describe('a signed challenge', () => {
  test.each([
    ['eip155', () => ethereum],
    ['solana', () => solana],
  ])('%s: a token of 5 minutes with amr hwk, an event, and the last use of the wallet', async (_, which) => {
    const wallet = which()
    const readEvents = await eventsRecordedFromNow(app, realm.tenant.accountId)
    const { message } = await challenge(wallet)
    const { status, body } = await redeem(signed(wallet, message), { resource: 'https://api.example.com' })
    expect([status, body.expires_in, body.scope]).toEqual([200, 300, 'orders:read'])
    expect(jwtClaims(body.access_token)).toMatchObject({
      sub: agent,
      client_id: agent,
      aud: 'https://api.example.com',
      amr: ['hwk'],
    })
    const events = await readEvents('agent.')
    expect(events.map(({ type, data }) => [type, data])).toEqual([
      ['agent.authentication.succeeded', { method: 'wallet', verifier_id: wallet.id }],
    ])
    const { data } = expectStatus(await owner().get(`${agents}/${agent}/verifiers`), 200)
    expect(data.filter((one: AnyJson) => one.last_used_at !== null).map((one: AnyJson) => one.id)).toEqual([wallet.id])
  })

  test('authenticates at introspection and revocation too; each request needs a new challenge', async () => {
    const { access_token: token } = (await redeem(signed(ethereum, (await challenge(ethereum)).message))).body
    const send = async (path: string) =>
      realm.postForm(path, undefined, {
        token,
        client_id: agent,
        client_assertion_type: CAIP_122,
        client_assertion: signed(ethereum, (await challenge(ethereum)).message),
      })
    expect((await send('/introspect')).body).toMatchObject({ active: true, sub: agent })
    expect((await send('/revoke')).status).toBe(200)
    expect((await send('/introspect')).body).toEqual({ active: false })
  })

  test('an agent can write the message itself: without statement, with its own, with another time zone, the address in any case', async () => {
    const statement = /\n\nSign in as the agent [^\n]*\n\n/
    const edits: ((message: string) => string)[] = [
      (message) => message.replace(statement, '\n\n\n'),
      (message) => message.replace(statement, '\n\nBuy low, sell high.\n\n'),
      (message) => message.replace(/0x\w{40}/, ethereum.address),
      (message) => message.replace(/0x\w{40}/, `0x${ethereum.address.slice(2).toUpperCase()}`),
      (message) => message.replaceAll(/(\d\d)\.\d{3}Z/g, '$1+00:00'),
    ]
    for (const edit of edits) {
      const { message } = await challenge(ethereum)
      const changed = edit(message)
      expect(changed).not.toBe(message)
      expect((await redeem(signed(ethereum, changed))).status).toBe(200)
    }
  })

  test('a wallet that was registered with another checksum spelling (EIP-55)', async () => {
    agent = await create()
    const wallet = ethereumWallet()
    await enroll(agent, { ...wallet, address: signatureSchemes['eip155']!.formatAddress(wallet.address) })
    expect((await redeem(signed(wallet, (await challenge(wallet)).message))).status).toBe(200)
  })

  test('is valid once: of 20 concurrent requests in two processes one succeeds, and later ones fail', async () => {
    const assertion = signed(ethereum, (await challenge(ethereum)).message)
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, index) => redeem(assertion, {}, index % 2 === 0 ? realm : twin)),
    )
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(responses.filter(({ status, body }) => status === 401 && body.error === 'invalid_client')).toHaveLength(19)
    expect((await redeem(assertion)).status).toBe(401)
  })

  test('is consumed by a request that fails for another reason; two authentication methods are rejected', async () => {
    const spent = signed(ethereum, (await challenge(ethereum)).message)
    expect((await redeem(spent, { scope: 'nonsense' })).body.error).toBe('invalid_scope')
    expect((await redeem(spent)).body.error).toBe('invalid_client')
    const kept = signed(ethereum, (await challenge(ethereum)).message)
    expect((await redeem(kept, { client_secret: 'x' })).body.error).toBe('invalid_request')
    const both = await fetch(`${realm.url}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${agent}:x`)}` },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_assertion_type: CAIP_122,
        client_assertion: kept,
      }),
    })
    expect([both.status, ((await both.json()) as AnyJson).error]).toEqual([400, 'invalid_request'])
    expect((await redeem(kept)).status).toBe(200)
  })
})

describe('401 invalid_client, and the challenge stays valid, for', () => {
  interface Attack {
    /** Changes the message of the challenge before the wallet signs it. */
    edit?: (message: string) => string
    /** Changes the assertion after the wallet has signed the message. */
    spoil?: (parts: { message: string; signature: string; type: string }) => object
  }
  const replaced = (from: string | RegExp, to: string): Attack => ({ edit: (message) => message.replace(from, to) })
  const other = ethereumWallet()
  /** The order of the group of secp256k1. */
  const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  const bytes = (signature: string) => Buffer.from(signature.slice(2), 'hex')
  const withV = (v: number) => (parts: { signature: string }) => ({
    ...parts,
    signature: `0x${parts.signature.slice(2, 130)}${v.toString(16).padStart(2, '0')}`,
  })
  const iso = (by: number) => new Date(Date.now() + by).toISOString()

  const attacks: Record<string, Attack> = {
    'another domain': replaced(/^\S+/, 'evil.example'),
    'a domain with a scheme before it': replaced(/^/, 'https://'),
    'the name of another chain': replaced('Ethereum', 'Solana'),
    'the name of an unsupported chain': replaced('Ethereum', 'Bitcoin'),
    'another address, signed by its own key': replaced(/0x\w{40}/, other.address),
    'another URI': replaced(/URI: \S+/, 'URI: https://evil.example/token'),
    'a URI with a slash after it': replaced(/URI: (\S+)/, 'URI: $1/'),
    'another version': replaced('Version: 1', 'Version: 2'),
    'another network': replaced('Chain ID: 8453', 'Chain ID: 1'),
    'another nonce': replaced(/Nonce: ../, 'Nonce: zz'),
    'no nonce': replaced(/Nonce: \w+\n/, ''),
    'a nonce in capitals': {
      edit: (message) => message.replace(/Nonce: (\w+)/, (text) => `Nonce: ${text.slice(7).toUpperCase()}`),
    },
    'no times': replaced(/Issued At: \S+\nExpiration Time: \S+\n/, ''),
    'no expiration': replaced(/Expiration Time: \S+\n/, ''),
    'an invalid time': replaced(/Issued At: \S+/, 'Issued At: yesterday'),
    'a date without time': replaced(/Issued At: (.{10})\S+/, 'Issued At: $1'),
    'issued more than 5 minutes ago': {
      edit: (message) => message.replace(/Issued At: \S+/, `Issued At: ${iso(-301_000)}`),
    },
    'issued in the future': { edit: (message) => message.replace(/Issued At: \S+/, `Issued At: ${iso(60_000)}`) },
    'already expired': { edit: (message) => message.replace(/Expiration Time: \S+/, `Expiration Time: ${iso(-1000)}`) },
    'valid for longer than 5 minutes': {
      edit: (message) => message.replace(/Expiration Time: \S+/, `Expiration Time: ${iso(3_600_000)}`),
    },
    'a field that was not requested': replaced(/\nResources/, '\nRequest ID: 1\nResources'),
    'another agent as resource': replaced(/agent:agt_\w+$/, `agent:agt_${'0'.repeat(26)}`),
    'a second resource': replaced(/$/, '\n- https://evil.example'),
    'no resource': replaced(/\nResources:[\s\S]*$/, ''),
    'text before it': replaced(/^/, 'Note. '),
    'text behind it': replaced(/$/, ' and everything else'),
    'a line feed behind it': replaced(/$/, '\n'),
    CRLF: { edit: (message) => message.replaceAll('\n', '\r\n') },
    'a carriage return in the statement': replaced('Sign in', 'Sign\rin'),
    'two statements': replaced('\n\nURI', '\nMore.\n\nURI'),
    'no-break spaces': { edit: (message) => message.replace('wants you', 'wants\u00a0you') },
    'lines in another order': replaced(/(Version: 1)\n(Chain ID: \d+)/, '$2\n$1'),
    'a message that was altered after signing': {
      spoil: (parts) => ({ ...parts, message: parts.message.replace('Sign in', 'Sign on') }),
    },
    'a signature by another key': { spoil: (parts) => ({ ...parts, signature: other.sign(parts.message) }) },
    'the equivalent signature with the high s value': {
      spoil: (parts) => {
        const [r, s, v] = [
          bytes(parts.signature).subarray(0, 32),
          bytes(parts.signature).subarray(32, 64),
          bytes(parts.signature)[64]!,
        ]
        const flipped = (ORDER - BigInt(`0x${s.toString('hex')}`)).toString(16).padStart(64, '0')
        return { ...parts, signature: `0x${r.toString('hex')}${flipped}${(v === 27 ? 28 : 27).toString(16)}` }
      },
    },
    'the other v': {
      spoil: (parts) => withV(bytes(parts.signature)[64] === 27 ? 28 : 27)(parts),
    },
    'v counted from 0': { spoil: (parts) => withV(bytes(parts.signature)[64]! - 27)(parts) },
    'v of EIP-155': { spoil: withV(37) },
    'v 29': { spoil: withV(29) },
    '64 bytes': { spoil: (parts) => ({ ...parts, signature: parts.signature.slice(0, 130) }) },
    '66 bytes': { spoil: (parts) => ({ ...parts, signature: `${parts.signature}00` }) },
    'no 0x': { spoil: (parts) => ({ ...parts, signature: parts.signature.slice(2) }) },
    'a signature of zeros': { spoil: (parts) => ({ ...parts, signature: `0x${'00'.repeat(64)}1b` }) },
    'a signature of ones': { spoil: (parts) => ({ ...parts, signature: `0x${'ff'.repeat(64)}1b` }) },
    'an empty signature': { spoil: (parts) => ({ ...parts, signature: '' }) },
    'eip1271, which is off': { spoil: (parts) => ({ ...parts, type: 'eip1271' }) },
    'the type of another network': { spoil: (parts) => ({ ...parts, type: 'solana:ed25519' }) },
    'an unknown type': { spoil: (parts) => ({ ...parts, type: 'constructor' }) },
    'an additional member': { spoil: (parts) => ({ ...parts, more: 1 }) },
    'a missing member': { spoil: ({ message, type }) => ({ message, type }) },
    'a member that is not a string': { spoil: (parts) => ({ ...parts, signature: 1 }) },
    'a list': { spoil: (parts) => [parts] },
  }

  test.each(Object.entries(attacks))('%s', async (_, { edit = (message) => message, spoil = (parts) => parts }) => {
    const { message } = await challenge(ethereum)
    const text = edit(message)
    const key = text.includes(other.address) ? other : ethereum
    const parts = spoil({ message: text, signature: key.sign(text), type: key.type })
    expect(encodeAssertion(parts)).not.toBe(
      encodeAssertion({ message, signature: ethereum.sign(message), type: 'eip191' }),
    )
    const response = await redeem(encodeAssertion(parts))
    expect([response.status, response.body]).toEqual([
      401,
      { error: 'invalid_client', error_description: expect.any(String) },
    ])
    expect(response.headers.get('www-authenticate')).toMatch(/^Basic /)
    expect((await redeem(signed(ethereum, message))).status).toBe(200)
  })

  test.each<[string, (assertion: string) => string]>([
    ['invalid base64url', (text) => `${text}=`],
    ['base64', (text) => Buffer.from(text, 'base64url').toString('base64').replace(/=*$/, '==')],
    ['trailing text', (text) => `${text}AAAA`],
    ['no JSON', () => Buffer.from('{').toString('base64url')],
    ['no UTF-8', () => Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url')],
    ['null', () => Buffer.from('null').toString('base64url')],
    ['nothing', () => ''],
    ['a JWT', () => 'eyJhbGciOiJub25lIn0.e30.'],
    ['too long', () => encodeAssertion({ message: 'x'.repeat(9000), signature: 'x', type: 'eip191' })],
  ])('an assertion that is %s', async (_, spoil) => {
    const { message } = await challenge(ethereum)
    const response = await redeem(spoil(signed(ethereum, message)))
    expect([response.status, response.body.error]).toEqual([401, 'invalid_client'])
    expect((await redeem(signed(ethereum, message))).status).toBe(200)
  })

  test('solana: another key, another spelling, a signature with an additional byte, hexadecimal', async () => {
    const { message } = await challenge(solana)
    const signature = solana.sign(message)
    const wrong = [
      solanaWallet().sign(message),
      `1${signature}`,
      `${signature}1`,
      signature.replace(/.$/, '0'),
      base58(Buffer.alloc(64)),
      base58(Buffer.alloc(64, 255)),
      'ab'.repeat(64),
    ]
    for (const one of wrong) {
      expect((await redeem(encodeAssertion({ message, signature: one, type: solana.type }))).status).toBe(401)
    }
    expect((await redeem(signed(solana, message, { type: 'eip191' }))).status).toBe(401)
    expect((await redeem(signed(solana, message, { type: 'ed25519' }))).status).toBe(200)
  })

  test('another agent, even with the same wallet', async () => {
    const { message } = await challenge(ethereum)
    const friend = await create()
    await enroll(friend, ethereum)
    expect((await redeem(signed(ethereum, message), { client_id: friend })).status).toBe(401)
    const renamed = message.replaceAll(agent, friend)
    expect((await redeem(signed(ethereum, renamed), { client_id: friend })).status).toBe(401)
    expect((await redeem(signed(ethereum, message))).status).toBe(200)
  })

  test('a client that is not an agent, and an unknown client', async () => {
    const { message } = await challenge(ethereum)
    const assertion = signed(ethereum, message)
    for (const client of [await realm.createClient({}, { confidential: true }), await realm.createClient()]) {
      expect((await redeem(assertion, { client_id: client.id })).status).toBe(401)
    }
    expect((await redeem(assertion, { client_id: '' })).body.error).toBe('invalid_client')
    expect((await redeem(assertion)).status).toBe(200)
  })

  test('a wallet that the agent does not have, on a network where it has another', async () => {
    for (const wallet of [ethereumWallet(), { ...ethereum, network: 'eip155:1' }]) {
      expect((await redeem(signed(wallet, (await challenge(wallet)).message))).status).toBe(401)
    }
  })

  test('a challenge of another issuer, at both issuers', async () => {
    const elsewhere = await Realm.create(app, 'Elsewhere')
    const { message } = await challenge(ethereum, agent, elsewhere)
    expect((await redeem(signed(ethereum, message))).status).toBe(401)
    expect((await redeem(signed(ethereum, message), {}, elsewhere)).status).toBe(401)
    const local = message.replaceAll(elsewhere.url, realm.url)
    expect((await redeem(signed(ethereum, local))).status).toBe(401)
  })

  test('an expired challenge', async () => {
    const { message } = await challenge(ethereum)
    app.clock.advance(300_000)
    expect((await redeem(signed(ethereum, message))).status).toBe(401)
    app.clock.advance(-300_000)
  })

  test.each<[string, () => Promise<unknown>]>([
    ['a suspended agent', () => owner().patch(`${agents}/${agent}`, { status: 'suspended', status_reason: 'x' })],
    ['a blocked agent', () => owner().patch(`${agents}/${agent}`, { status: 'blocked', status_reason: 'x' })],
    ['a deleted agent', () => owner().delete(`${agents}/${agent}`)],
    ['a wallet that was removed in the meantime', () => owner().delete(`${agents}/${agent}/verifiers/${ethereum.id}`)],
  ])('%s', async (_, end) => {
    const { message } = await challenge(ethereum)
    await end()
    expect((await redeem(signed(ethereum, message))).status).toBe(401)
  })
})

test('a failed proof is in the audit log, without the proof', async () => {
  const readEvents = await eventsRecordedFromNow(app, realm.tenant.accountId)
  const { message } = await challenge(ethereum)
  const assertion = signed(ethereumWallet(), message)
  await redeem(assertion)
  const [event, ...more] = await readEvents('agent.')
  expect(more).toEqual([])
  expect(event).toMatchObject({
    type: 'agent.authentication.failed',
    data: { method: 'wallet', status: 'active' },
  })
  expect(JSON.stringify(event)).not.toContain(assertion)
})

test('the nonce is stored as a hash, and purged after it expires', async () => {
  const { nonce } = await challenge(ethereum)
  const rows = await app.gatehouse.database.prisma.agentChallenge.findMany({ where: { agentId: agent } })
  expect(rows).toHaveLength(1)
  expect(JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? Number(value) : value))).not.toContain(nonce)
})

test('EIP-191: a signature of another implementation (web3.js, eth.accounts.sign)', () => {
  const signature =
    '0xb91467e570a6466aa9e9876cbcd013baba02900b8979d43fe208a4a4f339f5fd6007e74cd82e037b800186422fc2da167c747ef045e5d18a5f5d4300f8e1a0291c'
  const { verify, formatAddress } = signatureSchemes['eip155']!
  expect(verify('0x2c7536E3605D9C16a7a3D7b1898e529396a65c23', 'Some data', signature)).toBe(true)
  expect(verify('0x2c7536E3605D9C16a7a3D7b1898e529396a65c23', 'Some dates', signature)).toBe(false)
  // Addresses from the test cases of EIP-55.
  for (const address of [
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
    '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
    '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
  ])
    expect(formatAddress(address.toLowerCase())).toBe(address)
})

describe('30 challenges, and as many proofs, per minute and IP address', () => {
  test('the 31st is 429 with Retry-After', async () => {
    // Raises the limits of failed authentications, which would otherwise reject failed proofs earlier.
    const failures = { quota: 1000, window: 60 }
    const limits = { auth_failures: failures, auth_failures_ip: failures }
    const limited = await startApp({ env: { RATE_LIMITS: JSON.stringify(limits) } })
    const own = await Realm.create(limited)
    const { network, address } = ethereumWallet()
    const client_id = `agt_${'0'.repeat(26)}`
    const ask = () => own.postForm('/agents/challenge', undefined, { client_id, network, address })
    const prove = () =>
      own.postForm('/token', undefined, {
        grant_type: 'client_credentials',
        client_id,
        client_assertion_type: CAIP_122,
        client_assertion: 'x',
      })
    for (const [send, usual] of [
      [ask, 200],
      [prove, 401],
    ] as const) {
      const statuses = []
      for (let count = 0; count < 31; count++) statuses.push((await send()).status)
      expect(statuses).toEqual([...Array(30).fill(usual), 429])
      const refused = await send()
      expect(refused.body.error).toBe('too_many_requests')
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    await limited.close()
  })
})
