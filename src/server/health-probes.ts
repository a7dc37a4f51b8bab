/** `/healthz`, `/readyz` and `/metrics` of every server (docs/contract.md#probes-and-shutdown). */
import type { Middleware } from 'koa'
import type { Gatehouse } from '../platform/context.js'
import { isSameText } from '../platform/crypto/secrets.js'
import { readMetrics } from '../platform/metrics.js'
import { version } from '../platform/package-info.js'

interface Readiness {
  database: boolean
  migrations: boolean
  keys: boolean
}

const readinessSql = `
  SELECT EXISTS (SELECT 1 FROM _prisma_migrations WHERE finished_at IS NOT NULL) AS migrations,
    NOT EXISTS (SELECT 1 FROM issuers i WHERE i.id = (SELECT value->>'issuer_id' FROM deployment WHERE name = 'console')
      AND NOT EXISTS (SELECT 1 FROM signing_keys k WHERE k.issuer_id = i.id)) AS keys`

export function mountProbes(gatehouse: Gatehouse, state: { draining: boolean }): Middleware {
  return async (ctx, next) => {
    if (ctx.path !== '/healthz' && ctx.path !== '/readyz' && ctx.path !== '/metrics') return next()
    ctx.state['route'] = 'probe'
    ctx.set('Cache-Control', 'no-store')
    if (ctx.path === '/healthz') {
      ctx.body = { status: 'ok', version }
    } else if (ctx.path === '/readyz') {
      const checks = await checkReadiness(gatehouse)
      const ready = !state.draining && Object.values(checks).every(Boolean)
      ctx.status = ready ? 200 : 503
      if (!ready) ctx.set('Retry-After', '2')
      ctx.body = { status: state.draining ? 'draining' : ready ? 'ready' : 'not ready', checks }
    } else {
      const { metricsToken } = gatehouse.config
      if (metricsToken !== undefined && !isSameText(ctx.get('Authorization'), `Bearer ${metricsToken}`)) {
        ctx.status = 401
        ctx.set('WWW-Authenticate', 'Bearer realm="metrics"')
        ctx.body = {
          error: 'unauthorized',
          error_description: 'Authentication is required: send METRICS_TOKEN as a Bearer token.',
        }
        return
      }
      const { type, text } = await readMetrics(gatehouse.metrics)
      ctx.type = type
      ctx.body = text
    }
  }
}

async function checkReadiness({ database }: Gatehouse): Promise<Readiness> {
  try {
    const [row] = await database.query<Omit<Readiness, 'database'>>('ready', readinessSql, [])
    return { database: true, ...row! }
  } catch {
    return { database: false, migrations: false, keys: false }
  }
}
