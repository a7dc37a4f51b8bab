/** GitHub, and GitHub Enterprise Server by `settings.base_url`: OAuth 2.0 with an API that says who it is. */
import { ClientSecretPost, type Configuration } from 'openid-client'
import { isObject } from '../../../kernel/merge.js'
import { fixedProvider, readRecord, readResource } from './connection.js'
import { personOf } from './person.js'
import { failed, type OpenMethod, type Upstream } from './provider.js'

const PUBLIC = 'https://github.com'

const siteOf = ({ settings }: OpenMethod): string => (settings.base_url ?? PUBLIC).replace(/\/+$/, '')
const apiOf = (site: string): string => (site === PUBLIC ? 'https://api.github.com' : `${site}/api/v3`)

export const github: Upstream = {
  idToken: false,
  scopes: ({ settings }) => settings.scopes ?? ['read:user', 'user:email'],

  async connect(method) {
    const site = siteOf(method)
    const server = {
      issuer: `${site}/login/oauth`,
      authorization_endpoint: `${site}/login/oauth/authorize`,
      token_endpoint: `${site}/login/oauth/access_token`,
    }
    return fixedProvider(server, method.settings.client_id, ClientSecretPost(method.secret))
  },

  pkce: () => true,

  async person(config, { access_token }, method) {
    const site = siteOf(method)
    const user = await readRecord(config, access_token, `${apiOf(site)}/user`)
    // Names can be given up and taken by somebody else; numbers stay.
    const { id } = user
    if (typeof id !== 'number' || !Number.isSafeInteger(id) || id <= 0) throw failed('no_subject')
    const email = await primaryAddress(config, access_token, apiOf(site))
    return personOf(site, id, {
      name: user['name'],
      picture: user['avatar_url'],
      email,
      email_verified: email !== undefined,
    })
  },
}

/** The primary address, if it is confirmed. Who gives the application no access to addresses has none here. */
async function primaryAddress(config: Configuration, accessToken: string, api: string): Promise<unknown> {
  const list = await readResource(config, accessToken, `${api}/user/emails`)
  if (!Array.isArray(list)) return undefined
  const primary = list.find((one) => isObject(one) && one['primary'] === true && one['verified'] === true)
  return primary?.email
}
