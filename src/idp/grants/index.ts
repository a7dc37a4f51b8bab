/** The grants of the token endpoint, by `grant_type`. */

import { TOKEN_EXCHANGE } from '../../resources/clients/settings.js'
import { authorizationCode } from './authorization-code.js'
import { clientCredentials } from './client-credentials.js'
import type { Grant } from './grant.js'
import { refreshToken } from './refresh-token.js'
import { tokenExchange } from './token-exchange.js'

export const grants: Readonly<Record<string, Grant>> = {
  authorization_code: authorizationCode,
  refresh_token: refreshToken,
  client_credentials: clientCredentials,
  [TOKEN_EXCHANGE]: tokenExchange,
}
