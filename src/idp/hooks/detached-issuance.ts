/**
 * Runs the parts of oidc-provider that create the tokens of a code and the userinfo response, without an HTTP request.
 * The token preview uses them, so that its claims come from the same code as those of real tokens.
 */
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { ExternalSigningKey } from 'oidc-provider'
import userinfo from 'oidc-provider/lib/actions/userinfo.js'
import als from 'oidc-provider/lib/helpers/als.js'
import combinedScope from 'oidc-provider/lib/helpers/combined_scope.js'
import { issueTokens } from 'oidc-provider/lib/helpers/grant_common.js'
import * as grantHelpers from 'oidc-provider/lib/helpers/grants.js'
import type { OpenIdClient, OpenIdContext, OpenIdGrant, OpenIdProvider } from '../provider-types.js'
import { checkRequestedScope } from './contexts.js'
import { createIssuerKeyStore } from './key-store.js'

/** A key without key material. Its signatures are empty. */
class EmptySigningKey extends ExternalSigningKey {
  constructor(private readonly algorithm: string) {
    super()
  }

  override get kid(): string {
    return 'none'
  }
  override get alg(): string {
    return this.algorithm
  }
  override keyObject(): never {
    throw new Error('A key without key material cannot verify signatures.')
  }
  override sign(): Buffer {
    return Buffer.alloc(0)
  }
}

/** Creates a key store that signs nothing: its JWTs have an empty signature. */
export const createEmptyKeyStore = (): ReturnType<typeof createIssuerKeyStore> =>
  createIssuerKeyStore([], (alg) => new EmptySigningKey(alg))

/**
 * Runs `work` with a context of oidc-provider that belongs to no HTTP request.
 * @param params the parameters of an authorization request
 */
export function runDetached<T>(
  provider: OpenIdProvider,
  client: OpenIdClient,
  params: Record<string, unknown>,
  work: (ctx: OpenIdContext) => Promise<T>,
): Promise<T> {
  const req = new IncomingMessage(new Socket())
  req.method = 'POST'
  req.url = '/token'
  const ctx = provider.createContext(req, new ServerResponse(req)) as unknown as OpenIdContext
  const OidcContext = provider.OIDCContext as unknown as new (ctx: OpenIdContext) => OpenIdContext['oidc']
  Object.assign(ctx, { oidc: new OidcContext(ctx) })
  Object.assign(ctx.oidc, { params })
  ctx.oidc.entity('Client', client)
  return als.run(ctx, () => work(ctx))
}

const boundHelpers = (provider: OpenIdProvider): object =>
  Object.fromEntries(
    Object.entries(grantHelpers as unknown as Record<string, (...args: unknown[]) => unknown>).map(([name, helper]) => [
      name,
      helper.bind(undefined, provider),
    ]),
  )

/** Checks the parameter `scope`, and removes scopes that the client may not request. @throws InvalidScope */
export const checkScopes = (ctx: OpenIdContext): Promise<void> => checkRequestedScope(ctx, async () => undefined)

/** Checks the requested resources, and sets `ctx.oidc.resourceServers`. @throws InvalidTarget */
export async function resolveResources(provider: OpenIdProvider, ctx: OpenIdContext): Promise<void> {
  await grantHelpers.resolveRequestedResources(provider, ctx)
}

/** Returns the scopes of a code for the request of `ctx`. */
export const codeScopes = ({ oidc }: OpenIdContext, grant: OpenIdGrant): string[] => [
  ...combinedScope(grant, oidc.requestParamScopes, oidc.resourceServers ?? {}),
]

/**
 * Issues the tokens of a code that is not stored.
 * @returns the token response
 * @throws InvalidGrant if the user may not get tokens
 */
export async function issueTokensOfCode(
  provider: OpenIdProvider,
  ctx: OpenIdContext,
  code: object,
  grant: OpenIdGrant,
): Promise<{ access_token: string; id_token?: string; scope?: string }> {
  Object.assign(ctx.oidc.entities, { AuthorizationCode: code, Grant: grant })
  const options = { gty: 'authorization_code', entityLabel: 'authorization code' }
  await issueTokens(provider, boundHelpers(provider), ctx, code, grant, options)
  return ctx.body as { access_token: string; id_token?: string; scope?: string }
}

/** Returns the userinfo response for the access token and the account of `ctx`, which must have the scope `openid`. */
export async function userinfoOf(ctx: OpenIdContext): Promise<Record<string, unknown>> {
  Object.assign(ctx.oidc, { params: {} })
  await userinfo.at(-1)!(ctx, async () => undefined)
  return ctx.body as Record<string, unknown>
}
