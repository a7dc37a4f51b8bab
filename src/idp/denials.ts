/**
 * Records denied token and authorization requests (docs/contract.md#refused-requests): a log line for each request, and
 * an event if the client exists, at most one per client, reason and minute, and in each process at most
 * `maxDenialEventsPerClient` per client and minute. At each issuer, all clients that have a client ID metadata document
 * count together as one client. Requests of unknown clients add nothing to the audit log.
 */
import type { Context as KoaContext } from 'koa'
import { LRUCache } from 'lru-cache'
import { errors } from 'oidc-provider'
import { ApiError } from '../kernel/errors.js'
import { isId } from '../kernel/ids.js'
import { limits } from '../kernel/limits.js'
import { truncateText } from '../kernel/text.js'
import { MINUTE } from '../kernel/time.js'
import type { Context } from '../platform/context.js'
import { type Denial, recordDenial } from '../resources/clients/denials.js'
import { claimedClientId, isAuthenticated } from './client/authentication.js'
import { type ClientRow, clientRowOf } from './client/client.js'
import { withoutValues } from './client/redirect-uri-mismatch.js'
import { type Diagnosis, diagnose } from './denial-diagnosis.js'
import type { IssuerRuntime } from './issuer/runtime.js'
import type { OpenIdContext } from './provider-types.js'
import { withMachineActor } from './request-context.js'
import type { Form } from './request-input.js'
import type { Route, RouteName } from './routes.js'

type DenialType = 'token.denied' | 'authorization.denied'
const denialTypes: Partial<Record<RouteName, DenialType>> = {
  token: 'token.denied',
  introspect: 'token.denied',
  revoke: 'token.denied',
  authorize: 'authorization.denied',
  par: 'authorization.denied',
  resume: 'authorization.denied',
  logout: 'authorization.denied',
  logout_confirm: 'authorization.denied',
}
/** Names of endpoints in events, if they differ from the name of the route. */
const endpointNames: Partial<Record<RouteName, string>> = { resume: 'authorize', logout_confirm: 'logout' }

/** Key in `ctx.state` of the error with which oidc-provider denied the request. The listeners in provider.ts set it. */
export const DENIED_ERROR = 'deniedError'
/** Key in `ctx.state` of the client of a request that oidc-provider does not serve. */
export const DENIED_CLIENT = 'deniedClient'
/** Key in `ctx.state` of the parsed form. */
export const REQUEST_FORM = 'form'

/** A denied request whose issuer and route are known. */
export interface DeniedRequest {
  readonly context: Context
  readonly runtime: IssuerRuntime
  readonly route: Route
}

export interface DenialRecorder {
  /**
   * Logs a denied request and writes its event, if any, in the background. Does not wait for the write, and never
   * throws.
   */
  record(ctx: KoaContext, request: DeniedRequest, error: unknown): void
  /** Waits until pending events are written. */
  close(): Promise<void>
}

export function openDenialRecorder(): DenialRecorder {
  const lastRecordedAt = new LRUCache<string, number>({ max: limits.maxRememberedDenials })
  const countsByClient = new LRUCache<string, { since: number; count: number }>({ max: limits.maxRememberedDenials })
  const pendingWrites = new Set<Promise<void>>()

  /**
   * Returns true for the first denial of a subject and reason within a minute in this process, for at most
   * `maxDenialEventsPerClient` denials of the subject per minute. Remembers the denials for which it returns true.
   */
  function isFirstWithinMinute({ subject, reason }: Denial, now: number): boolean {
    const key = `${subject} ${reason}`
    if (now - (lastRecordedAt.get(key) ?? -MINUTE) < MINUTE) return false
    const previousCount = countsByClient.get(subject)
    const currentCount = previousCount && now - previousCount.since < MINUTE ? previousCount : { since: now, count: 0 }
    if (currentCount.count >= limits.maxDenialEventsPerClient) return false
    countsByClient.set(subject, { ...currentCount, count: currentCount.count + 1 })
    lastRecordedAt.set(key, now)
    return true
  }

  return {
    record(ctx, request, error) {
      const type = denialTypes[request.route.name]
      const details = type && denialDetailsOf(ctx, request, error)
      if (!type || !details) return
      const { context, runtime } = request
      const client = findClientRow(ctx)
      const claimedId = client?.id ?? loggableClientId(ctx)
      const facts = {
        request_id: context.request.id,
        issuer_id: runtime.issuer.id,
        client_id: claimedId,
      }
      context.log.info(
        { ...facts, ...details },
        type === 'token.denied' ? 'token request denied' : 'authorization request denied',
      )
      const denial = client
        ? createDenial(runtime, client, type, details)
        : createUnreadDenial(runtime, claimedId, type, details)
      if (!denial) return
      if (!isFirstWithinMinute(denial, context.now())) return
      const { id: issuerId, accountId } = runtime.issuer
      const actorContext =
        client && isAuthenticated(ctx)
          ? withMachineActor(context, { type: client.kind, id: client.id, name: client.name, accountId, issuerId })
          : context
      const write = recordDenial(actorContext, denial)
        .catch((err) => context.log.warn({ err, request_id: context.request.id }, 'recording a denied request failed'))
        .finally(() => pendingWrites.delete(write))
      pendingWrites.add(write)
    },
    async close() {
      await Promise.all(pendingWrites)
    },
  }
}

/**
 * Returns the details for the log and the event; undefined if the error is not a denial but a server error, a rate
 * limit, or an unknown path or issuer.
 */
function denialDetailsOf(ctx: KoaContext, { route }: DeniedRequest, error: unknown): DenialDetails | undefined {
  const deniedError = deniedErrorOf(error)
  // Only an unsupported method of a client is a denial; others are scans.
  if (!deniedError || (deniedError.error === 'method_not_allowed' && (route.browserFacing || !loggableClientId(ctx))))
    return undefined
  // `amendResponse` may have replaced the code of oidc-provider's error in the response.
  const responseBody = (ctx.body ?? {}) as { error?: unknown }
  const parameters = parametersOf(ctx)
  const redirectUri = error instanceof errors.InvalidRedirectUri ? parameters['redirect_uri'] : undefined
  const redact = createRedactor(ctx)
  const details = {
    endpoint: endpointNames[route.name] ?? route.name,
    error: !route.browserFacing && typeof responseBody.error === 'string' ? responseBody.error : deniedError.error,
    error_description: redact(deniedError.description),
    error_detail: deniedError.detail === undefined ? null : redact(deniedError.detail),
  }
  const { redirect_uris = [], post_logout_redirect_uris = [] } = findClientRow(ctx)?.settings.openid ?? {}
  const diagnosis = diagnose({
    ...details,
    text: [details.error_description, details.error_detail].filter(Boolean).join('; '),
    parameters,
    method: ctx.method,
    contentType: ctx.get('Content-Type'),
    registered: { redirect_uri: redirect_uris, post_logout_redirect_uri: post_logout_redirect_uris },
    refusedScope: error instanceof errors.InvalidScope ? (error as { scope?: string }).scope : undefined,
  })
  return {
    ...details,
    ...diagnosis,
    ...(typeof redirectUri === 'string' && {
      redirect_uri: truncateText(withoutValues(redirectUri), limits.maxDenialTextLength),
    }),
  }
}

type DenialDetails = Denial['data'] &
  Diagnosis & { error: string; error_description: string; error_detail: string | null }

function deniedErrorOf(
  error: unknown,
): { error: string; description: string; detail?: string | undefined } | undefined {
  if (error instanceof ApiError) {
    const isDenial = error.status >= 400 && error.status < 500 && ![404, 429].includes(error.status)
    return isDenial ? { error: error.code, description: error.message } : undefined
  }
  if (!(error instanceof errors.OIDCProviderError) || !error.expose || error.statusCode === 404) return undefined
  // The message of a JSON parser quotes its input, which can contain a secret.
  const detail = error.cause instanceof SyntaxError ? undefined : error.error_detail
  return { error: error.error, description: error.error_description ?? error.error, detail }
}

/**
 * Returns a function that removes the values of the request's parameters, its origin and the credentials of its
 * Authorization header from a text, so that no secret, code or token is logged. Values of fewer than 8 characters are
 * kept, because other words could contain them.
 */
function createRedactor(ctx: KoaContext): (text: string) => string {
  const values = Object.values(parametersOf(ctx)).flat()
  const sentValues = [...values, ctx.get('Origin'), ctx.get('Authorization').split(' ').at(-1)].filter(
    (value): value is string => value !== undefined && value.length >= 8,
  )
  return (text) =>
    truncateText(
      sentValues.reduce((redacted, value) => redacted.replaceAll(value, '…'), text),
      limits.maxDenialTextLength,
    )
}

const parametersOf = (ctx: KoaContext): Form => ({ ...ctx.query, ...(ctx.state[REQUEST_FORM] as Form | undefined) })

function findClientRow(ctx: KoaContext): ClientRow | undefined {
  const { Client } = (ctx as unknown as Partial<OpenIdContext>).oidc?.entities ?? {}
  return Client ? clientRowOf(Client) : (ctx.state[DENIED_CLIENT] as ClientRow | undefined)
}

/**
 * Returns the client id that the request claims if it has the format of a client or agent id; null for other text, which
 * could be a secret in the wrong parameter.
 */
function loggableClientId(ctx: KoaContext): string | null {
  const claimed = claimedClientId(ctx, parametersOf(ctx))
  return isId('cli', claimed) || isId('agt', claimed) ? (claimed ?? null) : null
}

function createDenial(
  { issuer }: IssuerRuntime,
  { id, kind, document }: ClientRow,
  type: DenialType,
  data: DenialDetails,
): Denial {
  return {
    type,
    accountId: issuer.accountId,
    issuerId: issuer.id,
    client: { kind, id },
    // Anyone can publish many metadata documents, so all metadata document clients of an issuer are one subject.
    subject: `${issuer.id} ${document ? 'document' : id}`,
    reason: [type, data['endpoint'], data.error, data.error_detail ?? data.error_description].join(' '),
    data,
  }
}

/**
 * Returns the denial of a request that is not a form, so that it was refused before its client was read; undefined for
 * other requests. All such requests of an issuer are one subject, because their client ids can be invented.
 */
function createUnreadDenial(
  { issuer }: IssuerRuntime,
  claimedId: string | null,
  type: DenialType,
  data: DenialDetails,
): Denial | undefined {
  if (data.reason !== 'request_not_form' || !isId('cli', claimedId ?? undefined)) return undefined
  return {
    type,
    accountId: issuer.accountId,
    issuerId: issuer.id,
    client: { kind: 'client', id: claimedId!, isUnread: true },
    subject: `${issuer.id} unread`,
    reason: [type, data['endpoint'], data.error, claimedId].join(' '),
    data,
  }
}
