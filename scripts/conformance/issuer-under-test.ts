/** Creates the issuers that the plans test, through `/v1`, and describes them in the configuration format of the suite. */
import { generateKeyPairSync } from 'node:crypto'
import { expectStatus } from '../../test/setup/actors.js'
import { createApiClient } from '../../test/setup/api.js'
import type { GatehouseProcess } from '../../test/setup/process.js'
import type { SignIn } from './visitor.js'

/** What an issuer and its clients need for a plan. */
export interface Requirements {
  /** The algorithm of ID tokens. */
  algorithm: 'ES256' | 'RS256' | 'EdDSA'
  /**
   * Whether clients have a back-channel logout URI. Only modules of that plan expect the notification; the others fail
   * if they get one.
   */
  backchannelLogout?: boolean
  /** Whether the issuer requires the FAPI 2.0 Security Profile. */
  fapi2?: boolean
}

export interface IssuerUnderTest {
  signIn: SignIn
  /** The configuration of the plan, for the suite. */
  configuration: object
}

const scopes = ['openid', 'profile', 'email', 'phone', 'address']

/** All claims of the scopes profile, email, phone and address that users of Gatehouse can have. */
const profile = {
  name: 'Test User',
  given_name: 'Test',
  family_name: 'User',
  locale: 'en-US',
  picture: 'https://example.com/picture.png',
  phone_number: '+12025550123',
  phone_number_verified: true,
  address: {
    formatted: '1 Main Street\nSpringfield, IL 62701\nUnited States',
    street_address: '1 Main Street',
    locality: 'Springfield',
    region: 'IL',
    postal_code: '62701',
    country: 'United States',
  },
}

/**
 * Creates an account with an issuer, a user and the clients of a plan.
 * @param alias the part of the suite's redirect URIs that is different for each plan
 * @param suiteUrl the URL under which the suite receives requests
 * @param idpUrl the URL under which the suite reaches the issuer
 */
export async function createIssuerUnderTest(
  gatehouse: GatehouseProcess,
  alias: string,
  requirements: Requirements,
  { suiteUrl, idpUrl }: { suiteUrl: string; idpUrl: string },
): Promise<IssuerUnderTest> {
  const response = await gatehouse.operator.graphql(
    'mutation ($input: CreateAccountInput!) { createAccount(input: $input) { account { id } apiKey { id secretPlain } } }',
    { input: { name: alias } },
  )
  const { account, apiKey } = expectStatus(response, 200).data.createAccount
  const owner = createApiClient(gatehouse.baseUrl, { id: apiKey.id, secret: apiKey.secretPlain })
  const create = async (path: string, body: object) =>
    expectStatus(await owner.post(`/v1/accounts/${account.id}/issuers${path}`, body), 201).data
  const issuer = await create('', { name: alias, settings: issuerSettings(requirements) })
  await create(`/${issuer.id}/auth-methods`, { name: 'Password', method: 'password' })
  const signIn = await createUser((path, body) => create(`/${issuer.id}/users${path}`, body), `${alias}@example.com`)
  const callbacks = `${suiteUrl}/test/a/${alias}`
  const createClient = async (name: string, key?: SigningKey) => {
    const settings = clientSettings(requirements, callbacks, key?.publicKey)
    const body = { name, type: 'internal', confidential: true, settings }
    const { id, secret } = await create(`/${issuer.id}/clients`, body)
    return key
      ? {
          client_id: id,
          scope: scopes.join(' '),
          jwks: { keys: [key.privateKey] },
          dpop_signing_alg: key.privateKey['alg'],
        }
      : { client_id: id, client_secret: secret }
  }
  // Only with an RSA key, the suite tests that the algorithm RS256 is refused.
  const [rsaKey, ecKey] = requirements.fapi2 ? [newSigningKey('PS256'), newSigningKey('ES256')] : []
  const url = `${idpUrl}/${issuer.id}`
  const configuration = {
    alias,
    description: 'Gatehouse',
    server: { discoveryUrl: `${url}/.well-known/openid-configuration`, login_hint: signIn.username },
    client: await createClient('first client', rsaKey),
    client2: await createClient('second client', ecKey),
    client_secret_post: await createClient('client with client_secret_post', ecKey),
    resource: { resourceUrl: `${url}/userinfo` },
  }
  return { signIn, configuration }
}

/** Creates a user who has all claims and a password. */
async function createUser(
  create: (path: string, body: object) => Promise<{ id: string }>,
  username: string,
): Promise<SignIn> {
  const password = 'correct horse battery staple'
  const { id } = await create('', { username_type: 'email', username, email_verified: true, profile })
  await create(`/${id}/verifiers`, { type: 'password', name: null, password })
  return { username, password }
}

const issuerSettings = ({ fapi2 }: Requirements): object =>
  fapi2 ? { security: { openid_policy: { profile: 'fapi2', client_assertions: { enabled: true } } } } : {}

function clientSettings(requirements: Requirements, callbacks: string, publicKey?: Record<string, unknown>): object {
  const { algorithm, backchannelLogout } = requirements
  return {
    openid: {
      application_type: 'web',
      response_signature_alg: algorithm,
      grant_types: ['authorization_code', 'refresh_token'],
      // Modules that compare redirect URIs use the second one.
      redirect_uris: [`${callbacks}/callback`, `${callbacks}/callback?dummy1=lorem&dummy2=ipsum`],
      post_logout_redirect_uris: [`${callbacks}/post_logout_redirect`],
      ...(backchannelLogout && {
        backchannel_logout_uri: `${callbacks}/backchannel_logout`,
        backchannel_logout_session_required: true,
      }),
      ...(publicKey && { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [publicKey] } }),
    },
    scopes,
  }
}

/** The key with which a client signs its assertions, as JWKs. */
interface SigningKey {
  privateKey: Record<string, unknown>
  publicKey: Record<string, unknown>
}

function newSigningKey(alg: 'PS256' | 'ES256'): SigningKey {
  const { privateKey, publicKey } =
    alg === 'PS256'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const parameters = { kid: 'assertions', alg, use: 'sig' }
  return {
    privateKey: { ...privateKey.export({ format: 'jwk' }), ...parameters },
    publicKey: { ...publicKey.export({ format: 'jwk' }), ...parameters },
  }
}
