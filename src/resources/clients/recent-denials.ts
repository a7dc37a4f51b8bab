/**
 * The recent errors of clients (docs/contract.md#refused-requests): denied requests of the last days, with equal errors
 * as one entry.
 */
import { ID, Int, ObjectType } from 'type-graphql'
import { lowestIdAt } from '../../kernel/ids.js'
import { limits } from '../../kernel/limits.js'
import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { loader } from '../../platform/postgres/loader.js'
import { enumType, Property } from '../declaration.js'
import { Timestamp } from '../graphql-types.js'
import { type DenialReason as DenialReasonName, denialReasons } from './denial-reasons.js'

export const DenialReason = enumType<DenialReasonName>(
  'DenialReason',
  'Why a request of a client was denied.',
  Object.fromEntries(Object.entries(denialReasons).map(([name, { meaning }]) => [name, meaning])) as Record<
    DenialReasonName,
    string
  >,
)

@ObjectType({
  description: `An error of a client: a kind of request that was denied in the last ${limits.recentDenialsPeriod / DAY} days. Anyone can send such requests in the name of a client, so its values can be invented.`,
})
export class ClientDenial {
  @Property(() => String, {
    description: 'The last part of the path of the endpoint: authorize, token, introspect, revoke or logout.',
    example: 'authorize',
  })
  endpoint!: string
  @Property(() => DenialReason, { description: 'Why the requests were denied.', example: 'redirect_uri_mismatch' })
  reason!: DenialReasonName
  @Property(() => String, { description: 'The OAuth error code of the response.', example: 'invalid_redirect_uri' })
  error!: string
  @Property(() => String, {
    description: 'What was wrong, in a sentence that names the parameter.',
    example:
      'redirect_uri did not match `https://app.example.com/cb`; allowed is `https://app.example.com/callback`. The difference is the path.',
  })
  message!: string
  @Property(() => String, {
    description: 'How to fix it.',
    example: 'Add the redirect URI to the client, or correct it in the application.',
  })
  fix!: string
  @Property(() => String, {
    description: 'The path of the field of the client that the fix changes. Null if it changes none.',
    example: 'settings.openid.redirect_uris',
    nullable: true,
  })
  setting!: string | null
  @Property(() => String, {
    description: 'The parameter that was refused. Null if the reason is not a parameter.',
    example: 'redirect_uri',
    nullable: true,
  })
  parameter!: string | null
  @Property(() => String, {
    description: 'The refused value of the parameter. Null if it could contain a secret.',
    example: 'https://app.example.com/cb',
    nullable: true,
  })
  value!: string | null
  @Property(() => Int, {
    description: `The number of minutes with such a request, because each error of a client is recorded at most once per minute. At most the newest ${limits.maxCountedDenials} events are counted.`,
    example: 3,
  })
  count!: number
  @Property(() => Timestamp, { description: 'The time of the first request that is counted.' })
  firstAt!: number
  @Property(() => Timestamp, { description: 'The time of the last request that was recorded.' })
  lastAt!: number
  @Property(() => ID, {
    description: 'The id of the last request, as in `X-Request-Id` and in the server log.',
    example: 'req_01kb3w8hxv6k8y1f4sn0q3a7pd',
    nullable: true,
  })
  requestId!: string | null
}

interface Row extends Record<string, unknown> {
  key: string
  count: number
  firstAt: string
  lastAt: string
  data: Readonly<Record<string, string | null>>
  requestId: string | null
}

const recentDenialsText = `
  SELECT client.key, d.* FROM unnest($1::text[], $2::text[], $3::text[]) AS client(key, account_id, id)
  CROSS JOIN LATERAL (
    SELECT count(*)::int AS count, min(e.created_at) AS "firstAt", max(e.created_at) AS "lastAt",
      (array_agg(e.data ORDER BY e.id DESC))[1] AS data,
      (array_agg(e.context ->> 'request_id' ORDER BY e.id DESC))[1] AS "requestId"
    FROM unnest(ARRAY['authorization.denied', 'token.denied']) AS t(type)
    CROSS JOIN LATERAL (
      SELECT n.id, n.created_at, n.data, n.context FROM events n
      WHERE n.account_id = client.account_id AND n.client_id = client.id AND n.type = t.type
        AND n.id >= $4 AND n.created_at >= $5::bigint
      ORDER BY n.id DESC LIMIT ${limits.maxCountedDenials}) e
    GROUP BY t.type, e.data ->> 'endpoint', e.data ->> 'error', e.data ->> 'reason', e.data ->> 'message',
      coalesce(e.data ->> 'error_detail', e.data ->> 'error_description')
    ORDER BY max(e.id) DESC LIMIT ${limits.maxRecentDenials}) d
  ORDER BY client.key, d."lastAt" DESC`

/** Reads the errors of several clients in one query. A key is an account id and a client id. */
async function recentDenialsOf(context: Context, keys: readonly string[]): Promise<ClientDenial[][]> {
  const parts = keys.map((key) => key.split(' '))
  const since = context.now() - limits.recentDenialsPeriod
  const values = [
    [...keys],
    parts.map(([account]) => account),
    parts.map(([, id]) => id),
    lowestIdAt('evt', since),
    since,
  ]
  const rows = await context.query<Row>('recent-denials', recentDenialsText, values)
  return keys.map((key) => rows.filter((row) => row.key === key).map(toClientDenial))
}

const isReason = (name: string | null | undefined): name is DenialReasonName =>
  typeof name === 'string' && Object.hasOwn(denialReasons, name)

/** Events that were recorded before the upgrade have no reason. Their message is the error description. */
function toClientDenial({ count, firstAt, lastAt, data, requestId }: Row): ClientDenial {
  const reason = isReason(data['reason']) ? data['reason'] : 'other'
  const description = [data['error_description'], data['error_detail']].filter(Boolean).join('; ')
  return {
    endpoint: data['endpoint'] ?? '',
    reason,
    error: data['error'] ?? '',
    message: data['message'] ?? description,
    fix: denialReasons[reason].fix,
    setting: denialReasons[reason].setting ?? null,
    parameter: data['parameter'] ?? null,
    value: data['value'] ?? null,
    count,
    firstAt: Number(firstAt),
    lastAt: Number(lastAt),
    requestId,
  }
}

/** Returns the errors of a client, the last one first. */
export const recentDenials = (
  context: Context,
  { accountId, id }: { accountId: string; id: string },
): Promise<ClientDenial[]> => loader(context, recentDenialsOf).load(`${accountId} ${id}`)
