/** OpenTelemetry spans (docs/observability.md). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node'
import { traceCall, traceRequest } from '../../src/platform/tracing.js'
import { WebhookFixture } from '../contract/webhook-fixture.js'
import { startApp } from '../setup/start-app.js'
import { waitUntil } from '../setup/wait-until.js'

const exporter = new InMemorySpanExporter()
const parent = { trace: '0af7651916cd43dd8448eb211c80319c', span: 'b7ad6b7169203331' }
const traceparent = `00-${parent.trace}-${parent.span}-01`

test('without an SDK no spans are created', async () => {
  const request = { method: 'GET', headers: { traceparent } } as never
  expect(traceRequest(request, (end) => [end, trace.getActiveSpan()])).toEqual([undefined, undefined])
  expect(
    await traceCall(
      'POST',
      {},
      async () => trace.getActiveSpan() ?? 'none',
      () => ({}),
    ),
  ).toBe('none')
})

describe('with an SDK', () => {
  let hooks: WebhookFixture
  beforeAll(async () => {
    new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register()
    hooks = await WebhookFixture.create()
  })
  beforeEach(() => exporter.reset())
  afterAll(async () => {
    await hooks?.close()
    trace.disable()
    context.disable()
    propagation.disable()
  })

  /** Returns the spans of a request after its response. */
  async function spansOf(work: () => Promise<unknown>): Promise<{ server: ReadableSpan; queries: ReadableSpan[] }> {
    await work()
    const isServer = ({ kind }: ReadableSpan) => kind === SpanKind.SERVER
    const server = await waitUntil('the span of the request is finished', () =>
      exporter.getFinishedSpans().find(isServer),
    )
    const spans = exporter.getFinishedSpans()
    const { traceId } = server!.spanContext()
    const queries = spans.filter((span) => span !== server && span.spanContext().traceId === traceId)
    return { server: server!, queries }
  }

  test("the span of a request has the caller's traceparent as parent and the spans of its queries as children", async () => {
    const { A, owner } = hooks.tenant
    const { server, queries } = await spansOf(() => owner.get(A, { traceparent }))
    expect(server).toMatchObject({
      name: 'GET /v1/accounts/{account_id}',
      attributes: {
        'http.request.method': 'GET',
        'http.route': '/v1/accounts/{account_id}',
        'http.response.status_code': 200,
        'gatehouse.server': 'core',
        'gatehouse.request_id': expect.stringMatching(/^req_/),
      },
      parentSpanContext: { traceId: parent.trace, spanId: parent.span },
    })
    expect(queries.map(({ name }) => name)).toContain('SELECT api_keys')
    for (const query of queries) {
      expect(query.parentSpanContext?.spanId).toBe(server.spanContext().spanId)
      expect(query.attributes).toMatchObject({ 'db.system.name': 'postgresql', 'db.query.summary': query.name })
    }
  })

  test('the span of a change has the statements of its transaction as children', async () => {
    const { A, owner } = hooks.tenant
    const { server, queries } = await spansOf(() => owner.patch(A, { name: 'Traced' }))
    expect(server.name).toBe('PATCH /v1/accounts/{account_id}')
    // BEGIN is sent together with the first statement and COMMIT with the last one. Both spans must have a duration.
    for (const statement of ['UPDATE accounts', 'WITH jsonb_to_recordset']) {
      const span = queries.find(({ name }) => name === statement)
      expect({ statement, took: span && span.duration[0] * 1e9 + span.duration[1] > 100_000 }).toEqual({
        statement,
        took: true,
      })
    }
    expect(queries.every(({ parentSpanContext }) => parentSpanContext?.spanId === server.spanContext().spanId)).toBe(
      true,
    )
  })

  test('background jobs create no spans', async () => {
    await hooks.app.gatehouse.database.prisma.account.count()
    const rootSpans = exporter.getFinishedSpans().filter(({ parentSpanContext }) => parentSpanContext === undefined)
    expect(rootSpans.map(({ name }) => name)).toEqual([])
  })

  test('spans of the IdP have a route; a 4xx status is not an error; an invalid traceparent is ignored', async () => {
    const { databaseUrl } = hooks.app
    const { idpUrl, close } = await startApp({ databaseUrl, roles: ['idp'] })
    const { server } = await spansOf(() =>
      fetch(`${idpUrl}/${hooks.tenant.issuerId}/token`, { method: 'POST', headers: { traceparent: 'x' } }),
    )
    await close()
    expect([server.name, server.attributes['http.response.status_code']]).toEqual(['POST /token', 401])
    expect([server.status.code, server.parentSpanContext]).toEqual([SpanStatusCode.UNSET, undefined])
  })

  test('the span of a webhook delivery has the host of the receiver but not the path', async () => {
    const webhook = await hooks.createWebhook()
    await hooks.triggerEvents()
    exporter.reset()
    await hooks.sendDueDeliveries()
    const [delivery] = await hooks.listDeliveries(webhook)
    const span = exporter.getFinishedSpans().find(({ attributes }) => 'gatehouse.webhook_id' in attributes)!
    const { hostname, port } = new URL(webhook.url)
    expect([span.name, span.kind]).toEqual(['POST', SpanKind.CLIENT])
    expect(span.attributes).toEqual({
      'http.request.method': 'POST',
      'http.response.status_code': delivery.last_response_status,
      'server.address': hostname,
      'server.port': Number(port),
      'gatehouse.webhook_id': webhook.id,
      'gatehouse.event_id': delivery.event_id,
    })
  })

  test('spans contain no secrets and no personal data', async () => {
    const { I, owner } = hooks.tenant
    const secret = 'a-secret-of-more-than-thirty-two-characters'
    const settings = { openid: { redirect_uris: ['https://app.example.com/callback?word=hidden'] } }
    const client = { name: 'Notebook', type: 'internal', confidential: true, secret, settings }
    await spansOf(() => owner.post(`${I}/clients`, client))
    await owner.post(`${I}/users`, { username_type: 'email', username: 'ada@example.com' })
    await owner.get(`${I}/users?cursor=somewhere`)
    const spans = JSON.stringify(
      exporter.getFinishedSpans().map(({ name, attributes, events, status }) => [name, attributes, events, status]),
    )
    expect(spans).toContain('INSERT clients')
    for (const word of [
      secret,
      'hidden',
      'ada@example.com',
      'somewhere',
      owner.authorization!,
      hooks.tenant.issuerId,
    ]) {
      expect(spans).not.toContain(word)
    }
  })
})
