/** The server of the Core API: maps paths to modules. */
import type { Middleware } from 'koa'
import { mountConsole } from '../console-host/index.js'
import { mountGraphql } from '../graphql/mount.js'
import { mountPlayground } from '../graphql/playground.js'
import type { Gatehouse } from '../platform/context.js'
import { dpopAlgorithms } from '../platform/crypto/dpop.js'
import { systemContext } from '../platform/jobs/periodic-jobs.js'
import { consolePath } from '../resources/console-path.js'
import { issuerUrl } from '../resources/issuer-url.js'
import { mountRest } from '../rest/mount.js'
import { mountOpenApi } from '../rest/openapi.js'
import { mountReference } from '../rest/reference/mount.js'
import { mountSetup } from '../setup/page.js'
import { mountDevelopmentInbox } from './development-inbox.js'

/** The middleware of the Core API and its shutdown functions. */
export interface CoreApi {
  readonly middleware: Middleware
  /** Ends all subscriptions, so that the server can shut down. */
  endStreams(): void
  /** Shutdown functions, in the order in which the parts of the Core API were created. */
  readonly closeHandlers: readonly (() => Promise<void>)[]
}

/**
 * Creates the middleware of the Core API.
 * @param idp returns the URL of the IdP server if it runs in this process, otherwise undefined
 */
export async function mountCoreApi(gatehouse: Gatehouse, idp: () => string | undefined): Promise<CoreApi> {
  const graphql = await mountGraphql(gatehouse)
  const rest = mountRest(gatehouse)
  const consoleHost = mountConsole(gatehouse, graphql.middleware, rest, idp)
  return {
    middleware: coreRoutes(gatehouse, graphql.middleware, rest, consoleHost.middleware),
    endStreams: graphql.closeStreams,
    closeHandlers: [graphql.stop, consoleHost.close],
  }
}

/** Routes requests by the first path segment. */
function coreRoutes(
  gatehouse: Gatehouse,
  graphql: Middleware,
  rest: Middleware,
  consoleMiddleware: Middleware,
): Middleware {
  const handlers: Record<string, Middleware> = {
    v1: rest,
    graphql,
    console: consoleMiddleware,
    setup: mountSetup(gatehouse),
    dev: mountDevelopmentInbox(gatehouse),
    playground: mountPlayground(),
    'openapi.json': mountOpenApi(gatehouse),
    docs: mountReference(gatehouse),
    '.well-known': mountProtectedResourceMetadata(gatehouse),
  }
  const home: Middleware = (ctx) => ctx.redirect('/console')
  return (ctx, next) => {
    const first = ctx.path.split('/')[1] ?? ''
    const handler = first === '' ? home : Object.hasOwn(handlers, first) ? handlers[first] : undefined
    return handler ? handler(ctx, next) : next()
  }
}

/**
 * Serves the protected resource metadata of the Core API (RFC 9728), which names the console issuer as its
 * authorization server (docs/contract.md#access-tokens-at-the-core-api).
 */
function mountProtectedResourceMetadata(gatehouse: Gatehouse): Middleware {
  const { baseUrl } = gatehouse.config
  return async (ctx, next) => {
    if (ctx.path !== '/.well-known/oauth-protected-resource') return next()
    const path = await consolePath(systemContext(gatehouse))
    ctx.set('Access-Control-Allow-Origin', '*')
    ctx.body = {
      resource: baseUrl,
      authorization_servers: path ? [issuerUrl(gatehouse.config, path.issuer_id)] : [],
      bearer_methods_supported: ['header'],
      dpop_signing_alg_values_supported: dpopAlgorithms,
      resource_documentation: `${baseUrl}/docs`,
    }
  }
}
