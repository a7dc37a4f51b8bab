/**
 * The server part of the console: static files, sign-in, and the proxy from the console to GraphQL and, for the page
 * /docs, to `/v1`. Access and refresh tokens stay on the server and the browser has only cookies. Browsers may also send
 * a cookie with requests from other sites, so these requests and the sign-out are accepted only from pages of this
 * origin.
 */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Context as KoaContext, Middleware } from 'koa'
import { anonymousContext } from '../access/authenticate-request.js'
import { system } from '../kernel/context.js'
import { ApiError } from '../kernel/errors.js'
import type { Context, Gatehouse } from '../platform/context.js'
import { createRouter } from '../platform/http/router.js'
import { readBundle, sendBundleFile } from '../platform/http/static-files.js'
import { packageRoot, version } from '../platform/package-info.js'
import { consolePath } from '../resources/console-path.js'
import { cookiesOf } from './cookies.js'
import { sendMessagePage, sendShellPage } from './pages.js'
import { currentAccessToken, deleteConsoleSession, findSession } from './sessions.js'
import { backchannelLogout, completeSignIn, signOut, startSignIn } from './sign-in.js'
import { openTokenClient } from './token-client.js'

/**
 * A header that pages of this origin send with GraphQL and REST requests. Browsers let a page of another site send it only after
 * a CORS preflight, which fails.
 */
const CONSOLE_HEADER = 'x-gatehouse-console'

/** The path of `/v1` for requests with the console session. */
const REST_PATH = '/console/v1/'

/**
 * Serves `/console` and every path below it.
 * @param graphql the middleware of the GraphQL API
 * @param rest the middleware of `/v1`
 * @param localIdp returns the base URL of the IdP if it runs in this process, otherwise undefined
 * @param folder folder of the built console
 */
export function mountConsole(
  gatehouse: Gatehouse,
  graphql: Middleware,
  rest: Middleware,
  localIdp: () => string | undefined,
  folder = join(packageRoot, 'dist/console'),
): { middleware: Middleware; close(): Promise<void> } {
  const { baseUrl, idpUrl } = gatehouse.config
  const { origin } = new URL(baseUrl)
  const tokens = openTokenClient(gatehouse, localIdp)
  const bundle = openReloadingBundle(folder)
  const contextOf = (ctx: KoaContext): Context => ({ ...anonymousContext(gatehouse, ctx.req), actor: system })
  const sessionOf = (context: Context, ctx: KoaContext) => findSession(context, cookiesOf(ctx, baseUrl).read('session'))

  /** Checks Origin and Sec-Fetch-Site, because the cookie alone does not prevent cross-site request forgery. */
  const isFromConsolePage = (ctx: KoaContext): boolean => {
    const site = ctx.get('Sec-Fetch-Site')
    const from = ctx.get('Origin')
    // Browsers send no Origin with the reading requests of pages of the same origin.
    const isSameOrigin = from === origin || (from === '' && isRead(ctx))
    return isSameOrigin && (site === '' || site === 'same-origin')
  }
  const requireConsolePage = (ctx: KoaContext, isHeaderRequired: boolean): void => {
    if (isFromConsolePage(ctx) && (!isHeaderRequired || ctx.get(CONSOLE_HEADER) === '1')) return
    throw new ApiError('forbidden', 'Only pages of the console can send requests to this address.')
  }

  /**
   * Serves a request of the page with the access token of its session. Responses 401 end the session, except those that
   * ask for a more recent sign-in.
   */
  async function serveWithSession(ctx: KoaContext, api: Middleware): Promise<void> {
    requireConsolePage(ctx, true)
    const context = contextOf(ctx)
    const session = await sessionOf(context, ctx)
    const token = session && (await currentAccessToken(context, tokens, session))
    if (!token) throw new ApiError('unauthorized', 'You are not signed in.')
    delete ctx.req.headers.cookie
    ctx.req.headers.authorization = `Bearer ${token}`
    await api(ctx as Parameters<Middleware>[0], async () => {})
    if (ctx.status !== 401) return
    // The challenge is removed, because browsers would open their own password prompt for it.
    ctx.remove('WWW-Authenticate')
    if ((ctx.body as { error?: unknown } | null)?.error === 'insufficient_user_authentication') return
    // The API refused the token, for example because the session was revoked or its user was suspended.
    await deleteConsoleSession(context, session.id)
    cookiesOf(ctx, baseUrl).write('session', '', 0)
  }

  async function serveRest(ctx: KoaContext): Promise<void> {
    ctx.url = ctx.url.slice('/console'.length)
    await serveWithSession(ctx, rest)
  }

  /**
   * Responds with the signed-in user and the addresses and IDs that the console needs. Without a session the status is
   * 401, or, if the query has `optional`, 200 with `user: null`.
   */
  async function serveSession(ctx: KoaContext): Promise<void> {
    const context = contextOf(ctx)
    const session = await sessionOf(context, ctx)
    ctx.set('Cache-Control', 'no-store')
    if (!session) {
      if (!ctx.URL.searchParams.has('optional')) throw new ApiError('unauthorized', 'You are not signed in.')
      ctx.body = { user: null }
      return
    }
    const path = await consolePath(context)
    const where = { id: session.userId, issuerId: path?.issuer_id ?? '' }
    const user = await context.db.user.findFirst({ where, select: { id: true, username: true, profile: true } })
    const { name } = (user?.profile ?? {}) as { name?: unknown }
    ctx.body = {
      user: { id: session.userId, username: user?.username ?? '', name: typeof name === 'string' ? name : null },
      // The console issuer, at which the administrators of all accounts sign in.
      home: path && { accountId: path.account_id, issuerId: path.issuer_id },
      idpUrl,
      // The system account, which contains the console issuer.
      consoleAccountId: path?.account_id,
      version,
    }
  }

  async function servePage(ctx: KoaContext): Promise<void> {
    const template = bundle.page()
    if (!template) {
      return sendMessagePage(ctx, 503, 'The console is not built', 'Run npm run build, then restart Gatehouse.')
    }
    if (await sessionOf(contextOf(ctx), ctx)) return sendShellPage(ctx, template, new URL(idpUrl).origin)
    ctx.set('Cache-Control', 'no-store')
    ctx.redirect(`/console/sign-in?${new URLSearchParams({ return_to: ctx.path + ctx.search })}`)
  }

  type Handler = (ctx: KoaContext) => Promise<void>
  const matchRoute = createRouter<Handler>(
    [
      { path: '/console/graphql', methods: ['POST'], route: (ctx) => serveWithSession(ctx, graphql) },
      {
        path: '/console/sign-out',
        methods: ['POST'],
        route: async (ctx) => {
          requireConsolePage(ctx, false)
          await signOut(contextOf(ctx), ctx)
        },
      },
      {
        path: '/console/backchannel-logout',
        methods: ['POST'],
        route: (ctx) => backchannelLogout(contextOf(ctx), ctx),
      },
      { path: '/console/sign-in', methods: ['GET'], route: (ctx) => startSignIn(contextOf(ctx), ctx) },
      { path: '/console/callback', methods: ['GET'], route: (ctx) => completeSignIn(contextOf(ctx), ctx, tokens) },
      { path: '/console/session', methods: ['GET'], route: serveSession },
    ],
    () => undefined,
  )

  const middleware: Middleware = async (ctx) => {
    ctx.state['route'] = '/console'
    const path = ctx.path
    if (path.startsWith(REST_PATH)) return serveRest(ctx)
    const match = matchRoute(isRead(ctx) ? 'GET' : ctx.method, path)
    if (match?.route) return match.route(ctx)
    if (!isRead(ctx) || match) {
      const isPost = match?.routesByMethod.has('POST') ?? false
      throw new ApiError('method_not_allowed', `This path supports only ${isPost ? 'POST' : 'GET and HEAD'}.`, {
        headers: { Allow: isPost ? 'POST' : 'GET, HEAD' },
      })
    }
    const file = bundle.file(path.slice('/console'.length))
    if (file) {
      ctx.set('Cross-Origin-Resource-Policy', 'same-origin')
      return sendBundleFile(ctx, file)
    }
    // A file below assets/ that does not exist may belong to an earlier build. The response is 404 instead of the page.
    if (path.startsWith('/console/assets/')) return
    return servePage(ctx)
  }
  return { middleware, close: () => tokens.close() }
}

const isRead = ({ method }: KoaContext): boolean => method === 'GET' || method === 'HEAD'

/** The built files. `page` reads them again if a build has replaced index.html while the process runs. */
function openReloadingBundle(folder: string) {
  const index = join(folder, 'index.html')
  const builtAt = () => statSync(index, { throwIfNoEntry: false })?.mtimeMs
  let loadedBuildTime: number | undefined
  let template: string | undefined
  let files = readBundle(folder)
  return {
    page(): string | undefined {
      const buildTime = builtAt()
      if (buildTime !== loadedBuildTime) {
        loadedBuildTime = buildTime
        template = buildTime === undefined ? undefined : readFileSync(index, 'utf8')
        files = readBundle(folder)
      }
      return template
    },
    file: (name: string) => files.get(name),
  }
}
