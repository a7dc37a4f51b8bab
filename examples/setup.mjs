/**
 * Creates the resources that each example needs, through the administration API. `setup` returns the environment
 * variables of the example. Each run creates new clients, so that no client secret has to be stored.
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const PORT = process.env.PORT ?? '8080'
const home = `http://localhost:${PORT}`

/**
 * Creates the user anna@example.com, whose address is verified, with the password `a long first password`. Returns the
 * user id.
 */
export async function createAnna({ api, issuer }) {
  const methods = await api('GET', `${issuer}/auth-methods`)
  if (!methods.some(({ method }) => method === 'password')) {
    await api('POST', `${issuer}/auth-methods`, { name: 'Password', method: 'password' })
  }
  try {
    const profile = { name: 'Anna Example' }
    const user = { username_type: 'email', username: 'anna@example.com', email_verified: true, profile }
    const { id } = await api('POST', `${issuer}/users`, user)
    const password = { type: 'password', name: null, password: 'a long first password' }
    await api('POST', `${issuer}/users/${id}/verifiers`, password)
    return id
  } catch (error) {
    // 409: an earlier run created Anna, who is the only user of the issuer.
    if (!error.message.includes('409')) throw error
    const [{ id }] = await api('GET', `${issuer}/users`)
    return id
  }
}

/** Creates a client and returns it, with its secret if it is confidential. */
export const createClient = ({ api, issuer }, name, confidential, openid, more = {}) =>
  api('POST', `${issuer}/clients`, { name, type: 'internal', confidential, settings: { openid, ...more } })

/** Lets MCP clients without registration by an administrator get tokens for the MCP server of the example. */
async function allowMcpClients({ api, issuer }) {
  const allowed = { enabled: true, allowed_scopes: ['notes:read'], allowed_resources: [`${home}/mcp`] }
  const openid_policy = {
    dynamic_registration: { ...allowed, initial_access_token_required: false },
    client_id_metadata_document: allowed,
  }
  await api('PATCH', issuer, { settings: { security: { openid_policy } } })
}

/** An example in the folder mcp. @param registration how the issuer learns about the client */
const mcpExample = (registration) => ({
  command: ['node', 'examples/mcp/start.mjs'],
  async setup(environment) {
    const folder = fileURLToPath(new URL('mcp', import.meta.url))
    if (!existsSync(join(folder, 'node_modules')))
      execFileSync('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'ignore' })
    await createAnna(environment)
    await allowMcpClients(environment)
    return { PORT, REGISTRATION: registration }
  },
})

export const examples = {
  'single-page-app': {
    command: ['node', 'examples/single-page-app/serve.mjs'],
    async setup(environment) {
      await createAnna(environment)
      const { id } = await createClient(environment, 'Single-page app', false, {
        application_type: 'spa',
        redirect_uris: [`${home}/`],
        post_logout_redirect_uris: [`${home}/`],
      })
      return { PORT, CLIENT_ID: id }
    },
  },

  express: {
    command: ['node', 'examples/express/app.mjs'],
    async setup(environment) {
      await createAnna(environment)
      const { id, secret } = await createClient(environment, 'Express app', true, {
        application_type: 'web',
        redirect_uris: [`${home}/callback`],
        post_logout_redirect_uris: [home],
      })
      return { PORT, CLIENT_ID: id, CLIENT_SECRET: secret }
    },
  },

  native: {
    command: ['sh', '-c', 'node examples/native/sign-in.mjs "$ISSUER" "$CLIENT_ID"'],
    async setup(environment) {
      await createAnna(environment)
      const { id } = await createClient(environment, 'Native app', false, {
        application_type: 'native',
        redirect_uris: ['http://127.0.0.1/callback'],
      })
      return { CLIENT_ID: id }
    },
  },

  machine: {
    command: ['node', 'examples/machine/count-users.mjs'],
    async setup(environment) {
      await createAnna(environment)
      const openid = { application_type: 'm2m', allowed_resources: [environment.baseUrl] }
      const { id, secret } = await createClient(environment, 'Nightly job', true, openid, {
        scopes: ['issuers.users:read'],
      })
      return { API: environment.baseUrl, USERS: `${environment.issuer}/users`, CLIENT_ID: id, CLIENT_SECRET: secret }
    },
  },

  agent: {
    command: ['node', 'examples/agent/agent.mjs'],
    async setup(environment) {
      const { api, issuer } = environment
      const { id } = await api('POST', `${issuer}/agents`, { name: 'Reorder clerk', scopes: ['stock:read'] })
      // In production the agent creates its own wallet and keeps the private key.
      const { newWallet } = await import('./agent/wallet.mjs')
      const { address, privateKey } = newWallet()
      const wallet = { type: 'wallet', name: null, network: 'eip155:8453', address }
      await api('POST', `${issuer}/agents/${id}/verifiers`, wallet)
      return { AGENT_ID: id, PRIVATE_KEY: privateKey }
    },
  },

  'token-exchange': {
    command: ['node', 'examples/token-exchange/start.mjs'],
    async setup(environment) {
      const { api, issuer } = environment
      const scopes = ['orders:read', 'stock:read']
      const member_id = await createAnna(environment)
      const org = await api('POST', `${issuer}/organizations`, { name: 'Tulips', default_member_scopes: scopes })
      await api('POST', `${issuer}/organizations/${org.id}/members`, { member_id })
      const [orders, stock] = ['https://orders.example', 'https://stock.example']
      const app = await createClient(
        environment,
        'Shop',
        false,
        { application_type: 'native', redirect_uris: ['http://127.0.0.1/callback'], allowed_resources: [orders] },
        { scopes },
      )
      const actor = await createClient(environment, 'Orders, on behalf of users', true, {
        application_type: 'm2m',
        grant_types: [EXCHANGE],
        token_exchange: {
          subject_resources: [{ resource: orders, scopes: ['stock:read'] }],
          target_resources: [{ resource: stock, scopes: ['stock:read'] }],
          max_access_token_age: 60,
        },
      })
      return { CLIENT_ID: app.id, ORG: org.id, ACTOR_ID: actor.id, ACTOR_SECRET: actor.secret }
    },
  },

  mcp: mcpExample('dynamic'),

  'mcp-document': mcpExample('document'),

  webhooks: {
    command: ['node', 'examples/webhooks/node.mjs'],
    async setup({ api, account, issuer }) {
      for (const old of await api('GET', `${account}/webhooks`)) {
        if (old.name === 'Example') await api('DELETE', `${account}/webhooks/${old.id}`)
      }
      const hook = { name: 'Example', url: `http://127.0.0.1:${PORT}/` }
      const { signature_secret_plain } = await api('POST', `${account}/webhooks`, hook)
      // This change causes an event, which Gatehouse sends to the receiver.
      await api('PATCH', issuer, { description: `Changed at ${new Date().toISOString()}` })
      return { PORT, SIGNATURE_SECRET: signature_secret_plain }
    },
  },

  'typescript-client': {
    // `npm start` compiles this example with Gatehouse.
    command: ['node', 'dist/examples/typescript-client/usage.js'],
    setup: async ({ key, baseUrl }) => ({ KEY: key, BASE_URL: baseUrl }),
  },

  rest: {
    command: ['sh', 'examples/rest/first-steps.sh'],
    setup: async ({ key, baseUrl }) => ({ KEY: key, BASE_URL: baseUrl }),
  },
}
