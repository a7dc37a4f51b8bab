/**
 * The FAPI 2.0 Security Profile of an issuer (docs/contract.md#fapi-20-security-profile): what it requires of the client
 * and of pushed authorization requests. `clientMetadataOf` requires pushed requests, `requireProofHeader` requires DPoP,
 * and assertions/assertion.ts limits the audience and the algorithms of assertions.
 */
import { errors } from 'oidc-provider'
import { isFapi2 } from '../../resources/issuers/settings.js'
import { type OpenIdContext, textParameter } from '../provider-types.js'
import type { RequestContext } from '../request-context.js'
import { clientRowOf } from './client.js'

/**
 * Checks the authenticated client of a token request or pushed authorization request.
 * @throws InvalidClient if it has not authenticated with `private_key_jwt`; InvalidRequest for other settings and
 *   parameters that the profile does not allow
 */
export function requireSecurityProfile({ runtime, clientAssertion }: RequestContext, ctx: OpenIdContext): void {
  if (!isFapi2(runtime.issuer.settings)) return
  // Section 5.3.2.1: clients are confidential and authenticate with private_key_jwt or mutual TLS.
  if (clientAssertion === undefined)
    throw new errors.InvalidClient(
      'this issuer has the profile fapi2; the client must authenticate with private_key_jwt',
    )
  // Section 5.4.1: no RSASSA-PKCS1-v1_5.
  const { response_signature_alg: alg = 'ES256' } = clientRowOf(ctx.oidc.client!).settings.openid ?? {}
  if (alg === 'RS256')
    throw new errors.InvalidRequest(
      'this issuer has the profile fapi2; set settings.openid.response_signature_alg of the client to ES256 or EdDSA',
    )
  // Section 5.3.2.2: redirect URIs use https. Public native clients, which may use loopback URIs, are refused above.
  const redirectUri = textParameter(ctx, 'redirect_uri')
  if (redirectUri !== undefined && !redirectUri.startsWith('https://'))
    throw new errors.InvalidRequest('this issuer has the profile fapi2; redirect_uri must begin with https://')
}
