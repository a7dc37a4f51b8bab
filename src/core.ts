/** The server of the Core API: the rooms behind its addresses. */
import type { Middleware } from 'koa'
import { mountConsole } from './console-host/index.js'
import { mountDevMail } from './dev-mail.js'
import { mountGraphql } from './graphql/mount.js'
import { mountPlayground } from './graphql/playground.js'
import type { Gatehouse } from './platform/context.js'
import { systemContext } from './platform/jobs.js'
import { consolePlace } from './resources/console-place.js'
import { issuerUrl } from './resources/issuer-url.js'
import { mountRest } from './rest/mount.js'
import { mountOpenApi } from './rest/openapi.js'
import { mountReference } from './rest/reference/mount.js'
import { mountSetup } from './setup-page.js'

/** What the Core API answers with. */
export interface CoreRoom {
  readonly middleware: Middleware
  /** Ends subscriptions, which else would last as long as their readers want. */
  endStreams(): void
  /** In the order in which things were opened. */
  readonly closers: readonly (() => Promise<void>)[]
}

/** @param idp where the IdP listens in this same process, if it does */
export async function mountCore(gatehouse: Gatehouse, idp: () => string | undefined): Promise<CoreRoom> {
  const graphql = await mountGraphql(gatehouse)
  const consoleRoom = mountConsole(gatehouse, graphql.middleware, idp)
  return {
    middleware: coreRoutes(gatehouse, graphql.middleware, consoleRoom.middleware),
    endStreams: graphql.endStreams,
    closers: [graphql.stop, consoleRoom.close],
  }
}

/** The Core API's addresses, by their first segment. */
function coreRoutes(gatehouse: Gatehouse, graphql: Middleware, consoleRoom: Middleware): Middleware {
  const rooms: Record<string, Middleware> = {
    v1: mountRest(gatehouse),
    graphql,
    console: consoleRoom,
    setup: mountSetup(gatehouse),
    dev: mountDevMail(gatehouse),
    playground: mountPlayground(),
    'openapi.json': mountOpenApi(gatehouse),
    docs: mountReference(gatehouse),
    '.well-known': protectedResource(gatehouse),
  }
  const home: Middleware = (ctx) => ctx.redirect('/console')
  return (ctx, next) => {
    const first = ctx.path.split('/')[1] ?? ''
    const room = first === '' ? home : Object.hasOwn(rooms, first) ? rooms[first] : undefined
    return room ? room(ctx, next) : next()
  }
}

/** RFC 9728: how a client finds out where tokens for the Core API come from (decisions D6). */
function protectedResource(gatehouse: Gatehouse): Middleware {
  const { baseUrl } = gatehouse.config
  return async (ctx, next) => {
    if (ctx.path !== '/.well-known/oauth-protected-resource') return next()
    const place = await consolePlace(systemContext(gatehouse))
    ctx.set('Access-Control-Allow-Origin', '*')
    ctx.body = {
      resource: baseUrl,
      authorization_servers: place ? [issuerUrl(gatehouse.config, place.issuer_id)] : [],
      bearer_methods_supported: ['header'],
      resource_documentation: `${baseUrl}/docs`,
    }
  }
}
