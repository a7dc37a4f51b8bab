/** The grants of the token endpoint, by `grant_type`. */

import { TOKEN_EXCHANGE } from '../../resources/clients/settings.js'
import { authorizationCode } from './authorization-code.js'
import { clientCredentials } from './client-credentials.js'
import type { GrantType } from './grant.js'
import { refreshToken } from './refresh-token.js'
import { tokenExchange } from './token-exchange.js'

export const grantTypes: Readonly<Record<string, GrantType>> = {
  authorization_code: authorizationCode,
  refresh_token: refreshToken,
  client_credentials: clientCredentials,
  [TOKEN_EXCHANGE]: tokenExchange,
}
