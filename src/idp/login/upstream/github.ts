/** GitHub, and GitHub Enterprise Server with `settings.base_url`: OAuth 2.0 with a user API. */
import { ClientSecretPost, type Configuration } from 'openid-client'
import { isObject } from '../../../kernel/merge-patch.js'
import { createStaticConfiguration, readObjectResource, readResource } from './configuration.js'
import type { UpstreamMethod, UpstreamProvider } from './provider.js'
import { upstreamFailed } from './upstream-error.js'
import { parseUpstreamUser } from './upstream-user.js'

const PUBLIC_SITE = 'https://github.com'

const siteOf = ({ settings }: UpstreamMethod): string => (settings.base_url ?? PUBLIC_SITE).replace(/\/+$/, '')
const apiOf = (site: string): string => (site === PUBLIC_SITE ? 'https://api.github.com' : `${site}/api/v3`)

export const github: UpstreamProvider = {
  usesIdToken: false,
  scopes: ({ settings }) => settings.scopes ?? ['read:user', 'user:email'],

  async createConfiguration(request, method) {
    const site = siteOf(method)
    const server = {
      issuer: `${site}/login/oauth`,
      authorization_endpoint: `${site}/login/oauth/authorize`,
      token_endpoint: `${site}/login/oauth/access_token`,
    }
    return createStaticConfiguration(request, server, method.settings.client_id, ClientSecretPost(method.secret))
  },

  supportsPkce: () => true,

  async fetchUser(config, { access_token }, method) {
    const site = siteOf(method)
    const user = await readObjectResource(config, access_token, `${apiOf(site)}/user`)
    // The subject is the numeric id. A login name can be changed, and then be taken by another user.
    const { id } = user
    if (typeof id !== 'number' || !Number.isSafeInteger(id) || id <= 0) throw upstreamFailed('no_subject')
    const email = await fetchPrimaryEmail(config, access_token, apiOf(site))
    return parseUpstreamUser(site, id, {
      name: user['name'],
      picture: user['avatar_url'],
      email,
      email_verified: email !== undefined,
    })
  },
}

/** Returns the primary address if it is verified; undefined otherwise, and without access to the user's addresses. */
async function fetchPrimaryEmail(config: Configuration, accessToken: string, api: string): Promise<unknown> {
  const list = await readResource(config, accessToken, `${api}/user/emails`)
  if (!Array.isArray(list)) return undefined
  const primary = list.find((one) => isObject(one) && one['primary'] === true && one['verified'] === true)
  return primary?.email
}
