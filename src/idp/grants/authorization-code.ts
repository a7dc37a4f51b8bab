import { errors } from 'oidc-provider'
import { param } from '../library.js'
import type { Grant } from './grant.js'

/** Authorization code with PKCE (RFC 6749 4.1, RFC 7636, spec 5.2). The library does the rest. */
export const authorizationCode: Grant = {
  parameters: ['code', 'code_verifier', 'redirect_uri', 'resource'],
  repeatable: ['resource'],
  async handle(ctx, library) {
    // Spec 5.2 rule 3: 43 to 128 URL-safe characters; anything else is a wrong verifier, and a wrong one is invalid_grant.
    const verifier = param(ctx, 'code_verifier')
    if (verifier !== undefined && !/^[\w.~-]{43,128}$/.test(verifier)) throw new errors.InvalidGrant({})
    await library(ctx)
  },
}
