/** Spans as an OpenTelemetry SDK gets them (docs/observability.md), and that nothing is made where there is none. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node'
import { traceCall, traceRequest } from '../../src/platform/tracing.js'
import { Hooks } from '../resources/hooks.js'
import { startApp } from '../setup/start-app.js'

const exporter = new InMemorySpanExporter()
const parent = { trace: '0af7651916cd43dd8448eb211c80319c', span: 'b7ad6b7169203331' }
const traceparent = `00-${parent.trace}-${parent.span}-01`

test('without an SDK there is no span, and what would be traced runs as if nothing were there', async () => {
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
  let hooks: Hooks
  beforeAll(async () => {
    new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register()
    hooks = await Hooks.make()
  })
  beforeEach(() => exporter.reset())
  afterAll(async () => {
    await hooks?.close()
    trace.disable()
    context.disable()
    propagation.disable()
  })

  /** The spans of a request, once its answer is out. */
  async function spansOf(work: () => Promise<unknown>): Promise<{ server: ReadableSpan; queries: ReadableSpan[] }> {
    await work()
    const isServer = ({ kind }: ReadableSpan) => kind === SpanKind.SERVER
    for (let look = 0; look < 200 && !exporter.getFinishedSpans().some(isServer); look++) {
      await new Promise((done) => setTimeout(done, 10))
    }
    const spans = exporter.getFinishedSpans()
    const server = spans.find(isServer)!
    const { traceId } = server.spanContext()
    const queries = spans.filter((span) => span !== server && span.spanContext().traceId === traceId)
    return { server, queries }
  }

  test("a request is a span below the caller's traceparent, its queries are spans below it", async () => {
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

  test('a change has the statements of its transaction below it', async () => {
    const { A, owner } = hooks.tenant
    const { server, queries } = await spansOf(() => owner.patch(A, { name: 'Traced' }))
    expect(server.name).toBe('PATCH /v1/accounts/{account_id}')
    // BEGIN and COMMIT travel along with these.
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

  test('what nobody asked for, as jobs do all the time, makes no spans', async () => {
    await hooks.app.gatehouse.tools.prisma.account.count()
    const alone = exporter.getFinishedSpans().filter(({ parentSpanContext }) => parentSpanContext === undefined)
    expect(alone.map(({ name }) => name)).toEqual([])
  })

  test('the IdP names its routes too; a refusal is no fault of the span, a traceparent of nonsense no parent', async () => {
    const { databaseUrl } = hooks.app
    const { idpUrl, close } = await startApp({ databaseUrl, roles: ['idp'] })
    const { server } = await spansOf(() =>
      fetch(`${idpUrl}/${hooks.tenant.issuerId}/token`, { method: 'POST', headers: { traceparent: 'x' } }),
    )
    await close()
    expect([server.name, server.attributes['http.response.status_code']]).toEqual(['POST /token', 401])
    expect([server.status.code, server.parentSpanContext]).toEqual([SpanStatusCode.UNSET, undefined])
  })

  test('a delivery is a span that knows the receiver by host and not by path', async () => {
    const webhook = await hooks.hook()
    await hooks.happen()
    exporter.reset()
    await hooks.send()
    const [delivery] = await hooks.deliveries(webhook)
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

  test('no secret and no person is in any span', async () => {
    const { I, owner } = hooks.tenant
    const secret = 'a-secret-of-more-than-thirty-two-characters'
    const settings = { openid: { redirect_uris: ['https://app.example.com/callback?word=hidden'] } }
    const client = { name: 'Notebook', type: 'internal', confidential: true, secret, settings }
    await spansOf(() => owner.post(`${I}/clients`, client))
    await owner.post(`${I}/users`, { username_type: 'email', username: 'ada@example.com' })
    await owner.get(`${I}/users?cursor=somewhere`)
    const told = JSON.stringify(
      exporter.getFinishedSpans().map(({ name, attributes, events, status }) => [name, attributes, events, status]),
    )
    expect(told).toContain('INSERT clients')
    for (const word of [
      secret,
      'hidden',
      'ada@example.com',
      'somewhere',
      owner.authorization!,
      hooks.tenant.issuerId,
    ]) {
      expect(told).not.toContain(word)
    }
  })
})
