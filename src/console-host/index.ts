/**
 * The server part of the console: its files, its sign-in, and the way of its documents to GraphQL. It holds the tokens,
 * the browser only a cookie; so whatever changes something must come from a page of ours (security rule 10).
 */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Context as KoaContext, Middleware } from 'koa'
import { contextOfStranger } from '../access/admit.js'
import { system } from '../kernel/context.js'
import { ApiError } from '../kernel/errors.js'
import { bundleIn, sendBundleFile } from '../platform/bundle.js'
import type { Context, Gatehouse } from '../platform/context.js'
import { packageRoot } from '../platform/package-root.js'
import { consolePlace } from '../resources/console-place.js'
import { cookiesOf } from './cookies.js'
import { messagePage, shellPage } from './pages.js'
import { accessToken, closeSession, findSession } from './sessions.js'
import { backchannelLogout, callback, signIn, signOut } from './sign-in.js'
import { openTokens } from './tokens.js'

/** What a page of the console sends with its requests; other sites cannot without being asked first (CORS). */
const MARK = 'x-gatehouse-console'

/**
 * `/console` and everything below it.
 * @param graphql answers documents for whoever the Authorization header names
 * @param localIdp where this process's own IdP listens, if it has one
 * @param folder where the bundle lies
 */
export function mountConsole(
  gatehouse: Gatehouse,
  graphql: Middleware,
  localIdp: () => string | undefined,
  folder = join(packageRoot, 'dist/console'),
): { middleware: Middleware; close(): Promise<void> } {
  const { baseUrl, idpUrl } = gatehouse.config
  const { origin } = new URL(baseUrl)
  const tokens = openTokens(gatehouse, localIdp)
  const bundle = openBundle(folder)
  const contextOf = (ctx: KoaContext): Context => ({ ...contextOfStranger(gatehouse, ctx.req), actor: system })
  const sessionOf = (context: Context, ctx: KoaContext) => findSession(context, cookiesOf(ctx, baseUrl).read('session'))

  /** Sent by a page of this very address? Browsers say where a request comes from; the cookie alone proves nothing. */
  const fromOurPage = (ctx: KoaContext): boolean => {
    const site = ctx.get('Sec-Fetch-Site')
    return ctx.get('Origin') === origin && (site === '' || site === 'same-origin')
  }
  const refuseOthers = (ctx: KoaContext, marked: boolean): void => {
    if (fromOurPage(ctx) && (!marked || ctx.get(MARK) === '1')) return
    throw new ApiError('forbidden', 'This address is for pages of the console.')
  }

  async function answerGraphql(ctx: KoaContext): Promise<void> {
    refuseOthers(ctx, true)
    const context = contextOf(ctx)
    const session = await sessionOf(context, ctx)
    const token = session && (await accessToken(context, tokens, session))
    if (!token) throw new ApiError('unauthorized', 'You are not signed in.')
    delete ctx.req.headers.cookie
    ctx.req.headers.authorization = `Bearer ${token}`
    await graphql(ctx as Parameters<Middleware>[0], async () => {})
    if (ctx.status !== 401) return
    // The session has ended elsewhere, or its user was suspended; and a browser must not ask for a password of its own.
    ctx.remove('WWW-Authenticate')
    await closeSession(context, session.id)
    cookiesOf(ctx, baseUrl).write('session', '', 0)
  }

  /** Who is signed in. `?optional` is for pages that do as well without anybody: no refusal, but nobody. */
  async function answerSession(ctx: KoaContext): Promise<void> {
    const context = contextOf(ctx)
    const session = await sessionOf(context, ctx)
    ctx.set('Cache-Control', 'no-store')
    if (!session) {
      if (!ctx.URL.searchParams.has('optional')) throw new ApiError('unauthorized', 'You are not signed in.')
      ctx.body = { user: null }
      return
    }
    const place = await consolePlace(context)
    const where = { id: session.userId, issuerId: place?.issuer_id ?? '' }
    const user = await context.db.user.findFirst({ where, select: { id: true, username: true, profile: true } })
    const { name } = (user?.profile ?? {}) as { name?: unknown }
    ctx.body = {
      user: { id: session.userId, username: user?.username ?? '', name: typeof name === 'string' ? name : null },
      // Where administrators are kept, of every account.
      home: place && { accountId: place.account_id, issuerId: place.issuer_id },
      idpUrl,
      // The account that the console itself lives in: nobody's customers belong there.
      consoleAccountId: place?.account_id,
    }
  }

  async function answerPage(ctx: KoaContext): Promise<void> {
    const template = bundle.page()
    if (!template) {
      return messagePage(ctx, 503, 'The console is not built', 'Run npm run build and start Gatehouse again.')
    }
    if (await sessionOf(contextOf(ctx), ctx)) return shellPage(ctx, template, new URL(idpUrl).origin)
    ctx.set('Cache-Control', 'no-store')
    ctx.redirect(`/console/sign-in?${new URLSearchParams({ return_to: ctx.path + ctx.search })}`)
  }

  const posts: Record<string, (ctx: KoaContext) => Promise<void>> = {
    '/console/graphql': answerGraphql,
    '/console/sign-out': async (ctx) => {
      refuseOthers(ctx, false)
      await signOut(contextOf(ctx), ctx)
    },
    '/console/backchannel-logout': (ctx) => backchannelLogout(contextOf(ctx), ctx),
  }
  const gets: Record<string, (ctx: KoaContext) => Promise<void>> = {
    '/console/sign-in': (ctx) => signIn(contextOf(ctx), ctx),
    '/console/callback': (ctx) => callback(contextOf(ctx), ctx, tokens),
    '/console/session': answerSession,
  }

  const middleware: Middleware = async (ctx) => {
    ctx.state['route'] = '/console'
    const reads = ctx.method === 'GET' || ctx.method === 'HEAD'
    const path = ctx.path
    const answer = (reads ? gets : posts)[path]
    if (answer) return answer(ctx)
    if (!reads || path in posts) {
      throw new ApiError('method_not_allowed', `This address takes ${path in posts ? 'POST' : 'GET'}.`, {
        headers: { Allow: path in posts ? 'POST' : 'GET, HEAD' },
      })
    }
    const file = bundle.file(path.slice('/console'.length))
    if (file) {
      ctx.set('Cross-Origin-Resource-Policy', 'same-origin')
      return sendBundleFile(ctx, file)
    }
    // A name with a hash that is no more: the page would not do for it.
    if (path.startsWith('/console/assets/')) return
    return answerPage(ctx)
  }
  return { middleware, close: () => tokens.close() }
}

/** The built files, looked at again after a build while we run. */
function openBundle(folder: string) {
  const index = join(folder, 'index.html')
  const builtAt = () => statSync(index, { throwIfNoEntry: false })?.mtimeMs
  let seen: number | undefined
  let template: string | undefined
  let files = bundleIn(folder)
  return {
    page(): string | undefined {
      const built = builtAt()
      if (built !== seen) {
        seen = built
        template = built === undefined ? undefined : readFileSync(index, 'utf8')
        files = bundleIn(folder)
      }
      return template
    },
    file: (name: string) => files.get(name),
  }
}
