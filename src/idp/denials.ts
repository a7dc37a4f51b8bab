/**
 * Refused token and authorization requests (decisions D37): a line in the log for each, and an event for those of a known
 * client, at most one per client, reason and minute. An anonymous caller adds nothing to an account's audit log by naming
 * clients that do not exist.
 */
import type { Context as KoaContext } from 'koa'
import { LRUCache } from 'lru-cache'
import { errors } from 'oidc-provider'
import { ApiError } from '../kernel/errors.js'
import { isId } from '../kernel/ids.js'
import { MINUTE } from '../kernel/time.js'
import type { Context } from '../platform/context.js'
import { type Denial, recordDenial } from '../resources/clients/denials.js'
import { type ClientRow, rowOf } from './client.js'
import { claimedClient, isAuthenticated } from './client-authentication.js'
import type { OpenIdContext } from './library.js'
import type { Form } from './request.js'
import type { Route, RouteName } from './routes.js'
import type { Runtime } from './runtime.js'
import { asMachine } from './scope.js'

/** Events of one client within a minute, whatever the reasons; a process counts by itself. */
const PER_CLIENT = 20
/** Reasons, and clients, that a process remembers for a minute. */
const REMEMBERED = 10_000
/** Characters of a text that comes from the request, or may quote it. */
const LONGEST = 500

type DenialType = 'token.denied' | 'authorization.denied'
const kinds: Partial<Record<RouteName, DenialType>> = {
  token: 'token.denied',
  introspect: 'token.denied',
  revoke: 'token.denied',
  authorize: 'authorization.denied',
  resume: 'authorization.denied',
}

/** Names in `ctx.state`: the library's error, set by its listeners in provider.ts, and the form that was read. */
export const REFUSAL = 'refusal'
export const FORM = 'form'

/** One request, as far as it was understood. */
export interface Refused {
  readonly context: Context
  readonly runtime: Runtime
  readonly route: Route
}

export interface Denials {
  /** Logs a refusal and records its event in the background: the answer neither waits for it nor fails with it. */
  note(ctx: KoaContext, refused: Refused, error: unknown): void
  /** Waits for the events that are being written. */
  close(): Promise<void>
}

export function openDenials(): Denials {
  const known = new LRUCache<string, number>({ max: REMEMBERED })
  const perClient = new LRUCache<string, { since: number; count: number }>({ max: REMEMBERED })
  const writing = new Set<Promise<void>>()

  /** Is this the first of its kind within a minute, as far as this process knows? */
  function isNew({ subject, reason }: Denial, now: number): boolean {
    const key = `${subject} ${reason}`
    if (now - (known.get(key) ?? -MINUTE) < MINUTE) return false
    const before = perClient.get(subject)
    const counted = before && now - before.since < MINUTE ? before : { since: now, count: 0 }
    if (counted.count >= PER_CLIENT) return false
    perClient.set(subject, { ...counted, count: counted.count + 1 })
    known.set(key, now)
    return true
  }

  return {
    note(ctx, refused, error) {
      const type = kinds[refused.route.name]
      const told = type && factsOf(ctx, refused, error)
      if (!type || !told) return
      const { context, runtime } = refused
      const client = clientOf(ctx)
      const facts = {
        request_id: context.request.id,
        issuer_id: runtime.issuer.id,
        client_id: namedClient(ctx, client),
      }
      context.log.info({ ...facts, ...told }, type === 'token.denied' ? 'token request denied' : 'authorization denied')
      if (!client) return
      const denial = denialOf(runtime, client, type, told)
      if (!isNew(denial, context.now())) return
      const { id: issuerId, accountId } = runtime.issuer
      const acting = isAuthenticated(ctx)
        ? asMachine(context, { type: client.kind, id: client.id, name: client.name, accountId, issuerId })
        : context
      const write = recordDenial(acting, denial)
        .catch((err) => context.log.warn({ err, request_id: context.request.id }, 'a denied request was not recorded'))
        .finally(() => writing.delete(write))
      writing.add(write)
    },
    async close() {
      await Promise.all(writing)
    },
  }
}

/** What the log and the event say; undefined for what is no refusal: an error of ours, a limit, an unknown address. */
function factsOf(ctx: KoaContext, { route }: Refused, error: unknown): Record<string, string | null> | undefined {
  const said = saidBy(error)
  if (!said) return undefined
  // What was answered: our answers may name another error than the library did.
  const answered = (ctx.body ?? {}) as { error?: unknown }
  const redirectUri = error instanceof errors.InvalidRedirectUri ? parametersOf(ctx)['redirect_uri'] : undefined
  const clean = cleaner(ctx)
  return {
    endpoint: route.name === 'resume' ? 'authorize' : route.name,
    error: !route.pages && typeof answered.error === 'string' ? answered.error : said.error,
    error_description: clean(said.description),
    error_detail: said.detail === undefined ? null : clean(said.detail),
    ...(typeof redirectUri === 'string' && { redirect_uri: redirectUri.slice(0, LONGEST) }),
  }
}

function saidBy(error: unknown): { error: string; description: string; detail?: string | undefined } | undefined {
  if (error instanceof ApiError) {
    const refuses = error.status >= 400 && error.status < 500 && ![404, 405, 429].includes(error.status)
    return refuses ? { error: error.code, description: error.message } : undefined
  }
  if (!(error instanceof errors.OIDCProviderError) || !error.expose || error.statusCode === 404) return undefined
  // A parser of JSON quotes its input.
  const detail = error.cause instanceof SyntaxError ? undefined : error.error_detail
  return { error: error.error, description: error.error_description ?? error.error, detail }
}

/** Takes what the request holds out of a text, so that no secret, code or token gets into the log. */
function cleaner(ctx: KoaContext): (text: string) => string {
  const values = Object.values(parametersOf(ctx)).flat()
  const sent = [...values, ctx.get('Origin'), ctx.get('Authorization').split(' ').at(-1)].filter(
    (value): value is string => value !== undefined && value.length >= 8,
  )
  return (text) => sent.reduce((left, value) => left.replaceAll(value, '…'), text).slice(0, LONGEST)
}

const parametersOf = (ctx: KoaContext): Form => ({ ...ctx.query, ...(ctx.state[FORM] as Form | undefined) })

function clientOf(ctx: KoaContext): ClientRow | undefined {
  const { Client } = (ctx as unknown as Partial<OpenIdContext>).oidc?.entities ?? {}
  return Client && rowOf(Client)
}

/** The client of a log line: one that is known, or an id of our form; other text might be a secret in the wrong place. */
function namedClient(ctx: KoaContext, client: ClientRow | undefined): string | null {
  const claimed = client?.id ?? claimedClient(ctx, parametersOf(ctx))
  return client || isId('cli', claimed) || isId('agt', claimed) ? (claimed ?? null) : null
}

function denialOf(
  { issuer }: Runtime,
  { id, kind, document }: ClientRow,
  type: DenialType,
  data: Record<string, string | null>,
): Denial {
  return {
    type,
    accountId: issuer.accountId,
    issuerId: issuer.id,
    client: { kind, id },
    // Metadata documents are anybody's to publish, so all of an issuer's are counted as one client.
    subject: `${issuer.id} ${document ? 'document' : id}`,
    reason: [type, data['endpoint'], data['error'], data['error_detail'] ?? data['error_description']].join(' '),
    data,
  }
}
