/**
 * The IdP API (docs/contract.md#openid-connect-endpoints). Finds the issuer and the route of a request, and calls the
 * handler of the route: a static document, an endpoint of Gatehouse, or oidc-provider. Requests with an unknown path or
 * issuer, or an unsupported method, are rejected before the handler runs; so are requests with an invalid form or query,
 * except for static documents, which ignore them.
 */
import { stringify } from 'node:querystring'
import type Koa from 'koa'
import { errors } from 'oidc-provider'
import { unauthenticated } from '../kernel/context.js'
import { ApiError } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'
import { networkOf } from '../kernel/network.js'
import { type Context, contextFor, type Gatehouse } from '../platform/context.js'
import { respondWithError } from '../platform/http/error-response.js'
import { requestInfo } from '../platform/http/request.js'
import { translateDatabaseError } from '../platform/postgres/errors.js'
import { dynamicRegistrationPolicyOf } from '../resources/issuers/settings.js'
import { replaceClientAssertion } from './client/assertions/index.js'
import { claimedClientId, requireAuthenticationAllowed } from './client/authentication.js'
import { authenticateWallet } from './client/wallet-authentication.js'
import { DENIED_ERROR, openDenialRecorder, REQUEST_FORM } from './denials.js'
import { issueAgentChallenge } from './endpoints/agent-challenge.js'
import { checkSession, serveCheckSessionPage } from './endpoints/check-session.js'
import { keySetCacheControl } from './endpoints/key-set.js'
import { JWT_PLACEHOLDER } from './endpoints/live-token.js'
import { confirmLogout, serveLogout } from './endpoints/logout.js'
import { serveClientConfiguration, serveRegistration } from './endpoints/registration.js'
import { serveSession } from './endpoints/session.js'
import { serveStaticDocument } from './endpoints/static-documents.js'
import { setParsedForm, setProvider } from './hooks/contexts.js'
import { type IssuerRuntime, openIssuerRuntimes } from './issuer/runtime.js'
import { handleInteraction } from './login/interaction.js'
import { handleInvitationLink } from './login/invitation.js'
import { prefersHtml, sendIssuerPage } from './login/pages/issuer.js'
import { handleRecoveryLink } from './login/recovery-link.js'
import { handleUpstreamCallback } from './login/upstream/callback.js'
import { createProvider } from './provider.js'
import type { OpenIdContext } from './provider-types.js'
import { consumeRateLimit, createMetadataRateLimit } from './rate-limits.js'
import { type RequestContext, runInRequestContext } from './request-context.js'
import { checkQuery, type Form, formField, readForm, requestedHost, setCanonicalHost } from './request-input.js'
import { amendResponse, errorFormatFor } from './responses.js'
import { type Match, matchIssuerPage, matchPath, type RouteName } from './routes.js'
import { prefetchRedeemedArtifact, revokeTokenFamily } from './store/adapter.js'
import { AlreadyConsumedError, SignInEndedError, UnitOfWork } from './store/unit-of-work.js'

export interface Idp {
  /**
   * Handles one request. The Koa application must have `proxy` set, so that oidc-provider reads `X-Forwarded-*`. This
   * middleware overwrites those headers with verified values or deletes them.
   */
  readonly middleware: (ctx: Koa.Context) => Promise<void>
  /** Stops listening for issuer changes, and waits for the pending writes of events of denied requests. */
  close(): Promise<void>
}

/** Creates the IdP of one process. Several processes can use one database. */
export function createIdp(gatehouse: Gatehouse): Idp {
  const runtimes = openIssuerRuntimes(gatehouse)
  const provider = createProvider(gatehouse)
  const consumeMetadataRateLimit = createMetadataRateLimit()
  const denials = openDenialRecorder()
  const idpBaseUrl = new URL(gatehouse.config.idpUrl)
  const prefix = idpBaseUrl.pathname.replace(/\/$/, '')

  async function middleware(ctx: Koa.Context): Promise<void> {
    const facts = requestInfo(gatehouse, ctx.req)
    const host = requestedHost(ctx.req, idpBaseUrl, gatehouse.config.trustProxy)
    setCanonicalHost(ctx.req, idpBaseUrl, facts)
    ctx.set('X-Request-Id', facts.id)
    ctx.set('X-Content-Type-Options', 'nosniff')
    const context = contextFor(gatehouse, unauthenticated, facts)
    const match = matchPath(ctx.path, prefix)
    if (match) ctx.state['route'] = match.route.template
    let runtime: IssuerRuntime | undefined
    let deniedError: unknown
    try {
      if (!match) {
        const issuerPage = prefersHtml(ctx) ? matchIssuerPage(ctx.path, prefix) : undefined
        if (issuerPage) {
          consumeMetadataRateLimit(ctx, context)
          runtime = await runtimes.find(context, issuerPage.issuerId, host, true)
        }
        if (!runtime || !issuerPage?.isRoot || !['GET', 'HEAD'].includes(ctx.method))
          throw new ApiError('not_found', 'There is no endpoint at this path.')
        sendIssuerPage(ctx, context.config, runtime)
        return
      }
      // These requests need no credentials, so the rate limit is consumed before the issuer is looked up.
      const isDocument = documentRoutes.has(match.route.name)
      if (isDocument || match.route.name === 'check_session') consumeMetadataRateLimit(ctx, context)
      runtime = await runtimes.find(context, match.issuerId, host, isDocument)
      if (!runtime) throw new ApiError('not_found', 'There is no such issuer.')
      setCanonicalHost(ctx.req, runtime.parsedUrl, facts)
      if (registrationRoutes.has(match.route.name) && !dynamicRegistrationPolicyOf(runtime.issuer.settings).enabled)
        throw new ApiError('not_found', 'Dynamic client registration is not enabled for this issuer.')
      if (!match.route.methods.includes(ctx.method)) throw methodNotAllowed(match)
      if (ctx.method === 'OPTIONS') ctx.set('Allow', match.route.methods.join(', '))
      if (isDocument) serveIssuerDocument(ctx, context, runtime, match)
      else await handleRequest(ctx, context, { runtime, provider }, match)
      deniedError = ctx.state[DENIED_ERROR]
    } catch (caught) {
      deniedError = translateDatabaseError(caught)
      respondWithError(ctx, context, deniedError, errorFormatFor(match?.route, runtime))
    }
    if (deniedError !== undefined && match && runtime)
      denials.record(ctx, { context, runtime, route: match.route }, deniedError)
  }

  return {
    middleware,
    close: async () => {
      await runtimes.close()
      await denials.close()
    },
  }
}

const methodNotAllowed = ({ route }: Match): ApiError =>
  new ApiError('method_not_allowed', `This path supports only ${route.methods.join(', ')}.`, {
    headers: { Allow: route.methods.join(', ') },
  })

/**
 * Routes of documents that are the same for every caller. They are served from the cached snapshot of the issuer. While
 * the database is unavailable, a cached snapshot is used too, for the key set only for a limited time
 * (endpoints/key-set.ts).
 */
const documentRoutes = new Set<RouteName>(['metadata', 'keys', 'check_session_page'])

function serveIssuerDocument(ctx: Koa.Context, { now }: Context, runtime: IssuerRuntime, { route }: Match): void {
  if (route.name === 'check_session_page') {
    serveCheckSessionPage(ctx)
    return
  }
  if (ctx.method !== 'OPTIONS') {
    const { metadata, keySet, confirmedAt } = runtime
    const isKeySet = route.name === 'keys'
    serveStaticDocument(ctx, isKeySet ? { ...keySet, cacheControl: keySetCacheControl(now() - confirmedAt) } : metadata)
    return
  }
  ctx.set('Access-Control-Allow-Origin', '*')
  ctx.set('Access-Control-Allow-Methods', 'GET')
  ctx.set('Access-Control-Allow-Headers', ctx.get('Access-Control-Request-Headers') || '*')
  ctx.set('Access-Control-Max-Age', '3600')
  ctx.status = 204
}

/** Routes that exist only if the issuer allows dynamic client registration. */
const registrationRoutes: ReadonlySet<RouteName> = new Set(['registration', 'client_configuration'])

/** Routes at which clients authenticate. */
const clientAuthenticationRoutes: ReadonlySet<string> = new Set(['token', 'introspect', 'revoke', 'par'])
/** Routes whose `token` parameter can be a JWT access token. */
const tokenParameterRoutes: ReadonlySet<string> = new Set(['introspect', 'revoke'])

type IssuerProvider = Pick<RequestContext, 'runtime' | 'provider'>

async function handleRequest(
  ctx: Koa.Context,
  context: Context,
  { runtime, provider }: IssuerProvider,
  match: Match,
): Promise<void> {
  checkQuery(ctx)
  const parsedForm = ctx.method === 'POST' ? await readForm(ctx) : undefined
  const form = parsedForm ?? {}
  ctx.state[REQUEST_FORM] = form
  const { name } = match.route
  const request: RequestContext = {
    context,
    runtime,
    provider,
    unitOfWork: new UnitOfWork(runtime.issuer.id, runtime.issuer.settings.sessions?.idle_timeout),
    presentedJwt: tokenParameterRoutes.has(name) ? presentedJwtOf(form) : undefined,
  }
  if (name === 'authorize') {
    await consumeRateLimit(request, ctx, 'authorize', networkOf(context.request.ip))
    if (ctx.method === 'POST' && readFormAsQuery(runtime, ctx, form) === 'redirected') return
  }
  let libraryForm = form
  if (clientAuthenticationRoutes.has(name)) {
    requireAuthenticationAllowed(request, ctx, form)
    libraryForm = await authenticateWallet(request, ctx, replaceClientAssertion(request, ctx, form))
    // A client that authenticates with Basic may omit `client_id`, which oidc-provider requires at this endpoint.
    if (name === 'par' && !libraryForm['client_id'])
      libraryForm = { ...libraryForm, client_id: claimedClientId(ctx, form) }
  }
  await runInRequestContext(request, async () => {
    if (name === 'token') prefetchRedeemedArtifact(request, form)
    // Makes `ctx.cookies` sign and verify cookies with the key of the issuer, like oidc-provider. Other routes use no
    // cookies.
    if (match.route.browserFacing || name === 'check_session')
      ctx.cookies = provider.createContext(ctx.req, ctx.res).cookies
    switch (name) {
      case 'interaction':
        return handleInteraction(request, ctx, match.pathParameter!, form)
      case 'callback':
        return handleUpstreamCallback(
          request,
          ctx,
          match.pathParameter!,
          ctx.method === 'POST' ? form : { ...ctx.query },
        )
      case 'invitation':
        return handleInvitationLink(request, ctx, { ...ctx.query })
      case 'recovery':
        return handleRecoveryLink(request, ctx, { ...ctx.query })
      case 'logout':
        return serveLogout(request, ctx, ctx.method === 'POST' ? form : { ...ctx.query })
      case 'logout_confirm':
        return confirmLogout(request, ctx, form)
      case 'agent_challenge':
        return issueAgentChallenge(request, ctx, form)
      case 'session':
        return serveSession(request, ctx, form)
      case 'check_session':
        return checkSession(request, ctx)
      case 'registration':
        return serveRegistration(request, ctx)
      case 'client_configuration':
        return serveClientConfiguration(request, ctx, match.pathParameter!)
      default: {
        if (parsedForm && ctx.method === 'POST')
          setParsedForm(
            ctx as unknown as OpenIdContext,
            request.presentedJwt === undefined ? libraryForm : { ...libraryForm, token: JWT_PLACEHOLDER },
          )
        return runProvider(request, ctx as unknown as OpenIdContext, match, libraryForm)
      }
    }
  })
}

/**
 * Converts an authorization request whose parameters are a form (OpenID Connect Core 1.0 section 3.1.2.1) to a GET
 * request. Browsers send no `SameSite=Lax` cookies with a form of another site. They send them with the request that
 * follows a redirect, so the browser is redirected if the URL is not too long.
 */
function readFormAsQuery({ parsedUrl }: IssuerRuntime, ctx: Koa.Context, form: Form): 'redirected' | 'converted' {
  const query = stringify(form)
  if (ctx.get('Sec-Fetch-Site') === 'cross-site' && query.length <= limits.maxRedirectedQueryLength) {
    ctx.status = 303
    ctx.set('Location', `${parsedUrl.pathname}/authorize?${query}`)
    ctx.set('Cache-Control', 'no-store')
    ctx.body = ''
    return 'redirected'
  }
  ctx.method = 'GET'
  ctx.querystring = query
  for (const header of ['content-type', 'content-length', 'transfer-encoding']) delete ctx.req.headers[header]
  return 'converted'
}

/** Runs oidc-provider, then commits the unit of work before the response is sent. */
async function runProvider(request: RequestContext, ctx: OpenIdContext, match: Match, form: Form): Promise<void> {
  const { runtime, provider, unitOfWork, context } = request
  const { route } = match
  // Routes that browsers do not open return errors as JSON (OAuthError), even if the `Accept` header prefers HTML.
  if (!route.browserFacing) ctx.req.headers.accept = 'application/json'

  ctx['mountPath'] = runtime.parsedUrl.pathname
  ctx.path = route.template.replace('{uid}', match.pathParameter ?? '')
  setProvider(ctx, provider)
  await provider.middleware[0]!(ctx as never, async () => undefined)

  const { failure } = ctx.state as { failure?: unknown }
  if (failure !== undefined) throw failure
  if (ctx.method === 'OPTIONS') {
    // oidc-provider answers CORS preflight requests, and responds 404 to other OPTIONS requests. The path exists, so
    // the status becomes 204.
    if (ctx.status === 404) ctx.status = 204
    return
  }
  if (!route.browserFacing) await amendResponse(request, ctx, route, form)
  // An error response neither stores nor consumes artifacts.
  if (ctx.status >= 400) return unitOfWork.discard()
  try {
    await unitOfWork.commit(context)
  } catch (error) {
    if (error instanceof SignInEndedError) return restartAuthorization(request, ctx, match)
    if (!(error instanceof AlreadyConsumedError)) throw error
    // One of the two requests may come from an attacker, so the whole token family is revoked
    // (docs/contract.md#reuse-of-codes-and-refresh-tokens).
    for (const grantId of error.grantIds) await revokeTokenFamily(request, grantId, 'token_compromised')
    if (route.browserFacing) throw new errors.InvalidRequestUri('request_uri was already used')
    throw new errors.InvalidGrant({})
  }
}

/**
 * Redirects the browser to the URL of the request, so that the authorization starts again with the current browser
 * session instead of the ended one.
 * @throws SessionNotFound for another method than GET, which cannot be redirected
 */
function restartAuthorization({ runtime }: RequestContext, ctx: OpenIdContext, { route, pathParameter }: Match): void {
  // Another tab of the browser may have received a newer session cookie, which this response must not overwrite.
  ctx.remove('Set-Cookie')
  if (ctx.method !== 'GET')
    throw new errors.SessionNotFound('the session ended during this request; start the sign-in again')
  const { pathname } = new URL(`${runtime.url}${route.template.replace('{uid}', pathParameter ?? '')}`)
  ctx.status = 303
  ctx.set('Location', ctx.querystring === '' ? pathname : `${pathname}?${ctx.querystring}`)
  ctx.body = ''
}

/**
 * Returns the `token` parameter if it has the form of a JWT, signed (three parts) or encrypted (five parts); otherwise
 * undefined. oidc-provider rejects JWTs at introspection and revocation.
 */
function presentedJwtOf(form: Form): string | undefined {
  const token = formField(form, 'token')
  return token !== undefined && [3, 5].includes(token.split('.').length) ? token : undefined
}
