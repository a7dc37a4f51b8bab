/**
 * Queries of the audit log (docs/contract.md#event-endpoints). A list scans an index from the cursor, newest first, so
 * that the cost of a page does not grow with the number of events.
 */
import { invalidFields, notFound } from '../../kernel/errors.js'
import { idTimestamp, isId, lowestIdAt } from '../../kernel/ids.js'
import { checkPageLimit, type Page, type PageRequest, toPage } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import type { Event } from '../../platform/postgres/database.js'
import { relatedPage } from '../../platform/postgres/loader.js'
import { type InAccount, requireAccount, whereBelowCursor } from '../resource-path.js'
import type { EventFilter, EventPath, EventTimeRangeFilter } from './event.js'
import { eventCatalog } from './event-catalog.js'

export const isGiven = <T>(value: T | null | undefined): value is T => value !== undefined && value !== null

const columnNames = {
  accountId: 'account_id',
  issuerId: 'issuer_id',
  orgId: 'org_id',
  userId: 'user_id',
  clientId: 'client_id',
  agentId: 'agent_id',
  sessionId: 'session_id',
  authType: 'auth_type',
  createdAt: 'created_at',
}
export const eventColumns = [
  'e.id, e.type, e.actor, e.target, e.context, e.data, e.changes',
  ...Object.entries(columnNames).map(([name, column]) => `e.${column} AS "${name}"`),
].join(', ')

/** Builds the WHERE conditions of a statement or subquery. Several instances can share one list of parameter values. */
export class SqlConditions {
  readonly #texts: string[] = []

  constructor(readonly values: unknown[] = []) {}

  /** Adds a value and returns its placeholder. */
  value(value: unknown): string {
    return `$${this.values.push(value)}`
  }

  /** Adds a condition with `?` in place of the value. Does nothing if the value is null or undefined. */
  where(text: string, value: unknown): this {
    if (isGiven(value)) this.#texts.push(text.replace('?', () => this.value(value)))
    return this
  }

  get text(): string {
    return this.#texts.join(' AND ')
  }
}

/** @throws invalid_request for an empty list, or with one error for each type that is not in the event catalog */
export function checkEventTypes(types: readonly string[] | null | undefined): void {
  if (!types) return
  const errors = types.flatMap((type, at) =>
    Object.hasOwn(eventCatalog, type)
      ? []
      : [{ field: `eventTypes[${at}]`, code: 'invalid_value', message: 'is not an event type.' }],
  )
  if (types.length === 0)
    errors.push({ field: 'eventTypes', code: 'invalid_value', message: 'must contain at least one event type.' })
  if (errors.length > 0) throw invalidFields(errors)
}

/** Adds all conditions of a filter, except the time range, on the table with the alias `e`. */
export const addFilterConditions = (
  conditions: SqlConditions,
  { issuerId, userId, clientId, eventTypes }: EventFilter,
): SqlConditions =>
  conditions
    .where('e.issuer_id = ?', issuerId)
    .where('e.user_id = ?', userId)
    .where('e.client_id = ?', clientId)
    .where('e.type = ANY (?::text[])', eventTypes)

/**
 * Adds a time range both as a range of ids, which sort by time, and as a range of `created_at`, which selects
 * partitions.
 * @param from inclusive start (Unix milliseconds); null and undefined mean no start
 * @param to exclusive end (Unix milliseconds); null and undefined mean no end
 */
export function addTimeRangeConditions(
  conditions: SqlConditions,
  from: number | null | undefined,
  to: number | null | undefined,
): SqlConditions {
  return conditions
    .where('e.id >= ?', isGiven(from) ? lowestIdAt('evt', from) : null)
    .where('e.created_at >= ?::bigint', from)
    .where('e.id < ?', isGiven(to) ? lowestIdAt('evt', to) : null)
    .where('e.created_at < ?::bigint', to)
}

/**
 * Lists the events of an account, newest first.
 * @throws invalid_request for an unknown event type, an empty list of event types, or an invalid cursor or limit;
 *   not_found for the account
 */
export async function listEvents(
  context: Context,
  { accountId }: InAccount,
  filter: EventTimeRangeFilter,
  request: PageRequest,
): Promise<Page<Event>> {
  const limit = checkPageLimit(request)
  const cursor = whereBelowCursor('evt', request.cursor).id?.lt
  checkEventTypes(filter.eventTypes)
  const rows = await queryEvents(context, accountId, filter, cursor, limit + 1)
  if (rows.length === 0) await requireAccount(context, { accountId })
  return toPage(rows, limit)
}

type Row = Event & Record<string, unknown>

/**
 * Reads a page from the most selective index: by user, else by client, else by issuer or account. All of these indexes
 * except the one by user include the type, so a query with types but without a user reads one page per type and keeps
 * the newest events. The filters that the index does not cover apply to the rows that it finds: they exclude few rows,
 * because a client belongs to one issuer and a user has few events. No combination of values leads to a bad plan, so
 * the statements are prepared.
 */
function queryEvents(
  context: Context,
  accountId: string,
  filter: EventTimeRangeFilter,
  cursor: string | undefined,
  count: number,
): Promise<Row[]> {
  const { issuerId = null, userId = null, clientId = null, eventTypes = null, after, before } = filter
  const conditions = addTimeRangeConditions(new SqlConditions().where('e.account_id = ?', accountId), after, before)
  if (cursor) conditions.where('e.id < ?', cursor).where('e.created_at <= ?::bigint', idTimestamp(cursor))
  const residualConditions = new SqlConditions(conditions.values)
  if (userId !== null) {
    addFilterConditions(conditions, { userId })
    addFilterConditions(residualConditions, { issuerId, clientId, eventTypes })
  } else if (clientId !== null) {
    addFilterConditions(conditions, { clientId })
    addFilterConditions(residualConditions, { issuerId })
  } else addFilterConditions(conditions, { issuerId })
  if (clientId !== null && issuerId !== null) {
    // If the client belongs to another issuer, this condition avoids a scan of all events of the client.
    const client = `c.account_id = ${conditions.value(accountId)} AND c.id = ${conditions.value(clientId)}`
    conditions.where(`NOT EXISTS (SELECT FROM clients c WHERE ${client} AND c.issuer_id <> ?)`, issuerId)
  }
  const limitPlaceholder = conditions.value(count)
  // `IS TRUE` keeps the planner from choosing an index for the residual conditions.
  const where = [conditions.text, ...(residualConditions.text ? [`(${residualConditions.text}) IS TRUE`] : [])].join(
    ' AND ',
  )
  const selectPage = (columnList: string, ofType = ''): string =>
    `SELECT ${columnList} FROM events e WHERE ${where}${ofType} ORDER BY e.id DESC LIMIT ${limitPlaceholder}`
  if (eventTypes === null && residualConditions.text === '')
    return runEventQuery(context, selectPage(eventColumns), conditions)
  const keyColumns = 'e.id, e.created_at'
  const pageQuery =
    eventTypes === null || userId !== null
      ? selectPage(keyColumns)
      : `SELECT newest.* FROM unnest(${conditions.value([...new Set(eventTypes)])}::text[]) AS t(type)
         CROSS JOIN LATERAL (${selectPage(keyColumns, ' AND e.type = t.type')}) newest ORDER BY newest.id DESC LIMIT ${limitPlaceholder}`
  const text = `SELECT ${eventColumns} FROM (${pageQuery}) found
    JOIN events e ON e.account_id = ${conditions.value(accountId)} AND e.id = found.id AND e.created_at = found.created_at
    ORDER BY e.id DESC`
  return runEventQuery(context, text, conditions)
}

const runEventQuery = (context: Context, text: string, { values }: SqlConditions): Promise<Row[]> =>
  context.query<Row>(statementName(text), text, values)

const statementNames = new Map<string, string>()
/**
 * Returns the name of the prepared statement of a text. The number of names is limited by the combinations of filters.
 */
export function statementName(text: string): string {
  const name = statementNames.get(text) ?? `events-${statementNames.size}`
  statementNames.set(text, name)
  return name
}

const eventByIdText = `SELECT ${eventColumns} FROM events e WHERE e.account_id = $1 AND e.id = $2 AND e.created_at = $3::bigint`

/** @throws not_found */
export async function getEvent(context: Context, { accountId, eventId }: EventPath): Promise<Event> {
  const values = [accountId, eventId, isId('evt', eventId) ? idTimestamp(eventId) : 0]
  const [event] = await context.query<Row>('event', eventByIdText, values)
  if (!event) throw notFound('event')
  return event
}

/** Resource types with an `events` field. */
type EventParentType = 'account' | 'issuer' | 'user' | 'client'

const newestEventsText = (subject: EventParentType): string => `
  SELECT ${eventColumns}, subject.key FROM unnest($1::text[], $2::text[], $3::text[]) AS subject(key, account_id, id)
  CROSS JOIN LATERAL (
    SELECT * FROM events e WHERE e.account_id = subject.account_id
      ${subject === 'account' ? '' : `AND e.${subject}_id = subject.id`}
    ORDER BY e.id DESC LIMIT $4) e
  ORDER BY e.id DESC`

const newestEventsQuery =
  (subject: EventParentType) =>
  async (context: Context, keys: readonly string[], limit: number): Promise<Page<Event>[]> => {
    const parts = keys.map((key) => key.split(' '))
    const values = [[...keys], parts.map(([account]) => account), parts.map(([, id]) => id), limit + 1]
    const rows = await context.query<Row & { key: string }>(`events-of-${subject}`, newestEventsText(subject), values)
    return keys.map((key) =>
      toPage(
        rows.filter((row) => row.key === key),
        limit,
      ),
    )
  }

/** Read the newest events of several resources of one type in one query. A key is an account id and a resource id. */
const newestEventsOf = {
  account: newestEventsQuery('account'),
  issuer: newestEventsQuery('issuer'),
  user: newestEventsQuery('user'),
  client: newestEventsQuery('client'),
}

/**
 * Returns a page of the field `events` of a resource.
 * @throws invalid_request for an invalid limit or cursor
 */
export function relatedEvents(
  context: Context,
  page: PageRequest,
  type: EventParentType,
  { accountId, id }: InAccount & { id: string },
): Promise<Page<Event>> {
  const filter = type === 'account' ? {} : { [`${type}Id`]: id }
  const list = () => listEvents(context, { accountId }, filter, page)
  return relatedPage(context, page, `${accountId} ${id}`, newestEventsOf[type], list)
}
