/**
 * The IdP API (spec 4.17): finds the issuer that an address names, and who answers: a document from memory, one of our
 * own endpoints, or the library. Refuses what no endpoint is to see: other hosts' names, bodies too large, text that no
 * database can hold, methods that are not there.
 */
import type Koa from 'koa'
import { errors } from 'oidc-provider'
import { type RequestFacts, unauthenticated } from '../kernel/context.js'
import { ApiError } from '../kernel/errors.js'
import { networkOf } from '../kernel/network.js'
import { type Context, contextFor, type Gatehouse } from '../platform/context.js'
import { translated } from '../platform/database.js'
import { requestFacts } from '../platform/http.js'
import { endFamily, foresee } from './adapter.js'
import { proveWallet } from './agent-proof.js'
import { amendAnswer, failureOf, unforeseen } from './answers.js'
import { refuseEarly } from './client-authentication.js'
import { FORM, openDenials, REFUSAL } from './denials.js'
import { challengeAgent } from './endpoints/agent-challenge.js'
import { checkSession, serveCheckSessionPage } from './endpoints/check-session.js'
import { serveDocument } from './endpoints/documents.js'
import { keySetCaching } from './endpoints/key-set.js'
import { JWT_STAND_IN } from './endpoints/live-token.js'
import { confirmLogout, logout } from './endpoints/logout.js'
import { session } from './endpoints/session.js'
import { answeredBy, carriesForm } from './hooks/contexts.js'
import type { OpenIdContext } from './library.js'
import { metadataLimit, spend } from './limits.js'
import { dispatchLogin } from './login/dispatch.js'
import { beginInvitation } from './login/invitation.js'
import { errorPage } from './login/pages/error.js'
import { beginRecovery } from './login/recovery.js'
import { upstreamCallback } from './login/upstream/callback.js'
import { makeProvider } from './provider.js'
import { askedHost, canonicalise, checkQuery, type Form, field, readForm } from './request.js'
import { type Match, matchPath, type RouteName } from './routes.js'
import { openRuntimes, type Runtime } from './runtime.js'
import { inScope, type Scope } from './scope.js'
import { AlreadyConsumed, SignedOutMeanwhile, Writes } from './writes.js'

export interface Idp {
  /** Answers one request, in an application that believes `X-Forwarded-*`: they are what we make of them. */
  readonly middleware: (ctx: Koa.Context) => Promise<void>
  /** Stops listening for changes. Requests in flight are answered still. */
  close(): Promise<void>
}

/** Makes the IdP of one process; several can share a database. */
export function createIdp(gatehouse: Gatehouse): Idp {
  const runtimes = openRuntimes(gatehouse)
  const provider = makeProvider(gatehouse)
  const limitMetadata = metadataLimit()
  const denials = openDenials()
  const own = new URL(gatehouse.config.idpUrl)
  const prefix = own.pathname.replace(/\/$/, '')

  async function middleware(ctx: Koa.Context): Promise<void> {
    const facts = requestFacts(gatehouse, ctx.req)
    const host = askedHost(ctx.req, own, gatehouse.config.trustProxy)
    canonicalise(ctx.req, own, facts)
    ctx.set('X-Request-Id', facts.id)
    ctx.set('X-Content-Type-Options', 'nosniff')
    const context = contextFor(gatehouse, unauthenticated, facts)
    const match = matchPath(ctx.path, prefix)
    if (match) ctx.state['route'] = match.route.template
    let runtime: Runtime | undefined
    let refusal: unknown
    try {
      if (!match) throw new ApiError('not_found', 'There is no such address.')
      // What is asked for often, and by strangers: its limit is counted before anything is looked up.
      const isDocument = documents.has(match.route.name)
      if (isDocument || match.route.name === 'check_session') limitMetadata(ctx, context)
      runtime = await runtimes.of(context, match.issuerId, host, isDocument)
      if (!runtime) throw new ApiError('not_found', 'There is no such issuer.')
      canonicalise(ctx.req, runtime.address, facts)
      if (!match.route.methods.includes(ctx.method)) throw wrongMethod(match)
      if (ctx.method === 'OPTIONS') ctx.set('Allow', match.route.methods.join(', '))
      if (isDocument) answerDocument(ctx, context, runtime, match)
      else await answer(ctx, context, { runtime, provider }, match)
      refusal = ctx.state[REFUSAL]
    } catch (caught) {
      refusal = translated(caught)
      answerError(ctx, context, facts, match, runtime, refusal)
    }
    if (refusal !== undefined && match && runtime) denials.note(ctx, { context, runtime, route: match.route }, refusal)
  }

  return {
    middleware,
    close: async () => {
      await runtimes.close()
      await denials.close()
    },
  }
}

const wrongMethod = ({ route }: Match): ApiError =>
  new ApiError('method_not_allowed', `This address takes ${route.methods.join(', ')}.`, {
    headers: { Allow: route.methods.join(', ') },
  })

/** The same for everyone, and made without the database. */
const documents = new Set<RouteName>(['metadata', 'keys', 'check_session_page'])

function answerDocument(ctx: Koa.Context, { now }: Context, runtime: Runtime, { route }: Match): void {
  if (route.name === 'check_session_page') {
    serveCheckSessionPage(ctx)
    return
  }
  if (ctx.method !== 'OPTIONS') {
    const { metadata, keySet, confirmedAt } = runtime
    const isKeySet = route.name === 'keys'
    serveDocument(ctx, isKeySet ? { ...keySet, cacheControl: keySetCaching(now() - confirmedAt) } : metadata)
    return
  }
  ctx.set('Access-Control-Allow-Origin', '*')
  ctx.set('Access-Control-Allow-Methods', 'GET')
  ctx.set('Access-Control-Allow-Headers', ctx.get('Access-Control-Request-Headers') || '*')
  ctx.set('Access-Control-Max-Age', '3600')
  ctx.status = 204
}

/** Where clients prove who they are. */
const takesClients: ReadonlySet<string> = new Set(['token', 'introspect', 'revoke'])
/** Where they ask about a token. */
const takesTokens: ReadonlySet<string> = new Set(['introspect', 'revoke'])

type Answering = Pick<Scope, 'runtime' | 'provider'>

async function answer(
  ctx: Koa.Context,
  context: Context,
  { runtime, provider }: Answering,
  match: Match,
): Promise<void> {
  checkQuery(ctx)
  const read = ctx.method === 'POST' ? await readForm(ctx) : undefined
  const form = read ?? {}
  ctx.state[FORM] = form
  const { name } = match.route
  if (name === 'authorize') await spend(ctx, context, 'authorize', networkOf(context.request.ip))
  const jwt = takesTokens.has(name) ? jwtIn(form) : undefined
  if (takesClients.has(name)) refuseEarly(ctx, context, runtime, form)
  const proved = read && takesClients.has(name) ? await proveWallet(ctx, context, runtime, form) : undefined
  const scope: Scope = {
    proof: proved?.proof,
    jwt,
    context,
    runtime,
    provider,
    writes: new Writes(runtime.issuer.id, runtime.issuer.settings.sessions?.idle_timeout),
  }
  await inScope(scope, async () => {
    if (name === 'token') foresee(form)
    // Cookies are signed with the issuer's own key, by whoever sets them; programs get none.
    if (match.route.pages || name === 'check_session') ctx.cookies = provider.createContext(ctx.req, ctx.res).cookies
    switch (name) {
      case 'interaction':
        return dispatchLogin(ctx, match.uid!, form)
      case 'callback':
        return upstreamCallback(ctx, match.uid!, ctx.method === 'POST' ? form : { ...ctx.query })
      case 'invitation':
        return beginInvitation(ctx, { ...ctx.query })
      case 'recovery':
        return beginRecovery(ctx, { ...ctx.query })
      case 'logout':
        return logout(ctx, ctx.method === 'POST' ? form : { ...ctx.query })
      case 'logout_confirm':
        return confirmLogout(ctx, form)
      case 'agent_challenge':
        return challengeAgent(ctx, form)
      case 'session':
        return session(ctx, form)
      case 'check_session':
        return checkSession(ctx)
      default: {
        const sent = proved?.form ?? form
        if (read)
          carriesForm(ctx as unknown as OpenIdContext, jwt === undefined ? sent : { ...sent, token: JWT_STAND_IN })
        return runLibrary(ctx as unknown as OpenIdContext, scope, match, sent)
      }
    }
  })
}

/** Lets the library answer, then writes what the answer stands on, before it goes out. */
async function runLibrary(ctx: OpenIdContext, scope: Scope, match: Match, form: Form): Promise<void> {
  const { runtime, provider, writes, context } = scope
  const { route } = match
  // Programs get OAuthError in JSON, whatever they say that they like to read.
  if (!route.pages) ctx.req.headers.accept = 'application/json'

  ctx['mountPath'] = runtime.address.pathname
  ctx.path = route.template.replace('{uid}', match.uid ?? '')
  answeredBy(ctx, provider)
  await provider.middleware[0]!(ctx as never, async () => undefined)

  const { failure } = ctx.state as { failure?: unknown }
  if (failure !== undefined) throw failure
  if (ctx.method === 'OPTIONS') {
    // The library answers preflights, and takes any other question for what is allowed for an unknown address.
    if (ctx.status === 404) ctx.status = 204
    return
  }
  if (!route.pages) await amendAnswer(ctx, runtime, route, form)
  // What a refused request would have given out or consumed stays as it was.
  if (ctx.status >= 400) return writes.forget()
  try {
    await writes.flush(context)
  } catch (error) {
    if (error instanceof SignedOutMeanwhile) return askAgain(ctx, match, scope)
    if (!(error instanceof AlreadyConsumed)) throw error
    // Security rule 2: who comes second may be a thief, and then so may who came first.
    for (const grantId of error.grantIds) await endFamily(grantId, 'token_compromised')
    throw new errors.InvalidGrant({})
  }
}

/** The browser comes back for the same, without what it was signed in by, to begin anew. A POST cannot be sent back. */
function askAgain(ctx: OpenIdContext, { route, uid }: Match, { runtime }: Scope): void {
  // What another tab of the browser got meanwhile is newer.
  ctx.remove('Set-Cookie')
  if (ctx.method !== 'GET') throw new errors.SessionNotFound('the sign-in was ended meanwhile')
  const { pathname } = new URL(`${runtime.url}${route.template.replace('{uid}', uid ?? '')}`)
  ctx.status = 303
  ctx.set('Location', ctx.querystring === '' ? pathname : `${pathname}?${ctx.querystring}`)
  ctx.body = ''
}

/** The token of the form, if it looks like a JWT, signed (three parts) or encrypted (five): the library refuses both. */
function jwtIn(form: Form): string | undefined {
  const token = field(form, 'token')
  return token !== undefined && [3, 5].includes(token.split('.').length) ? token : undefined
}

/** Errors that are ours, and what nobody foresaw: masked, and logged with the request's id. */
function answerError(
  ctx: Koa.Context,
  context: Context,
  facts: RequestFacts,
  match: Match | undefined,
  runtime: Runtime | undefined,
  caught: unknown,
): void {
  const known = failureOf(caught)
  if (!known) context.log.error({ err: caught, request_id: facts.id, path: facts.path }, 'the IdP failed')
  const { status, body, headers } = known ?? unforeseen
  for (const name of ['Location', 'WWW-Authenticate']) ctx.remove(name)
  ctx.status = status
  if (match?.route.pages && runtime && status !== 405) {
    const key = status === 503 ? 'unavailable' : status === 429 ? 'too_many' : 'error_lead'
    errorPage(ctx, runtime, body, key)
  } else {
    ctx.body = body
  }
  ctx.set({ 'Cache-Control': 'no-store', ...headers })
}
