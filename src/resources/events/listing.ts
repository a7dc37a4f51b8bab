/**
 * Reading the trail (spec 4.14): lists walk an index from the cursor on, newest first, so that a page costs the same
 * among ten million events as among ten thousand.
 */
import { invalid, notFound } from '../../kernel/errors.js'
import { firstIdOf, isId, timeOf } from '../../kernel/ids.js'
import { limitOf, type Page, type PageRequest, pageOf } from '../../kernel/page.js'
import type { Context } from '../../platform/context.js'
import type { Event } from '../../platform/database.js'
import { after as afterCursor, type InAccount, requireAccount } from '../place.js'
import { catalogue } from './catalogue.js'

/** `after` is the first moment that counts and `before` the first that does not, in Unix milliseconds. */
export interface EventFilter {
  issuerId?: string | null
  userId?: string | null
  clientId?: string | null
  eventTypes?: readonly string[] | null
  after?: number | null
  before?: number | null
}

export const isGiven = <T>(value: T | null | undefined): value is T => value !== undefined && value !== null

export interface EventPlace extends InAccount {
  eventId: string
}

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
export const columns = [
  'e.id, e.type, e.actor, e.target, e.context, e.data, e.changes',
  ...Object.entries(columnNames).map(([name, column]) => `e.${column} AS "${name}"`),
].join(', ')

/** Conditions of a statement, or of one of its parts, as it is put together; the parts share their values. */
export class Conditions {
  readonly #texts: string[] = []

  constructor(readonly values: unknown[] = []) {}

  /** @returns the placeholder that stands for the value */
  value(value: unknown): string {
    return `$${this.values.push(value)}`
  }

  /** A condition with `?` where the value goes. Says nothing when the value is absent. */
  where(text: string, value: unknown): this {
    if (isGiven(value)) this.#texts.push(text.replace('?', () => this.value(value)))
    return this
  }

  get text(): string {
    return this.#texts.join(' AND ')
  }
}

/** @throws invalid_request naming each type that is not in the catalogue */
export function checkTypes(types: readonly string[] | null | undefined): void {
  if (!types) return
  const faults = types.flatMap((type, at) =>
    Object.hasOwn(catalogue, type)
      ? []
      : [{ field: `eventTypes[${at}]`, code: 'invalid_value', message: 'is not a type of event.' }],
  )
  if (types.length === 0) faults.push({ field: 'eventTypes', code: 'invalid_value', message: 'must name a type.' })
  if (faults.length > 0) throw invalid(faults)
}

/** Everything of a filter but its times, on the rows of `e`. */
export const matching = (conditions: Conditions, { issuerId, userId, clientId, eventTypes }: EventFilter): Conditions =>
  conditions
    .where('e.issuer_id = ?', issuerId)
    .where('e.user_id = ?', userId)
    .where('e.client_id = ?', clientId)
    .where('e.type = ANY (?::text[])', eventTypes)

/** A span of time as a range of ids, whose order is that of time, and as one of months. Beyond what ids hold is never. */
export function within(
  conditions: Conditions,
  from: number | null | undefined,
  to: number | null | undefined,
): Conditions {
  return conditions
    .where('e.id >= ?', isGiven(from) ? firstIdOf('evt', from) : null)
    .where('e.created_at >= ?::bigint', from)
    .where('e.id < ?', isGiven(to) ? firstIdOf('evt', to) : null)
    .where('e.created_at < ?::bigint', to)
}

/**
 * The events of an account, newest first.
 * @throws invalid_request for an unknown type or cursor, not_found for the account
 */
export async function listEvents(
  context: Context,
  { accountId }: InAccount,
  filter: EventFilter,
  request: PageRequest,
): Promise<Page<Event>> {
  const limit = limitOf(request)
  const cursor = afterCursor('evt', request.cursor).id?.lt
  checkTypes(filter.eventTypes)
  const rows = await read(context, accountId, filter, cursor, limit + 1)
  if (rows.length === 0) await requireAccount(context, { accountId })
  return pageOf(rows, limit)
}

type Row = Event & Record<string, unknown>

/**
 * One filter is asked of an index, a user before a client before an issuer, and for the latter two, or without any, there
 * are indexes with types in them: of each type the page's worth is taken, and the newest of those. What is left is asked
 * of what the index gives, which is most of it: a client is of one issuer, and a user has few events, which need not be
 * read for it. So no values lead to a bad plan, and the statements are prepared.
 */
function read(
  context: Context,
  accountId: string,
  filter: EventFilter,
  cursor: string | undefined,
  count: number,
): Promise<Row[]> {
  const { issuerId = null, userId = null, clientId = null, eventTypes = null, after, before } = filter
  const conditions = within(new Conditions().where('e.account_id = ?', accountId), after, before)
  if (cursor) conditions.where('e.id < ?', cursor).where('e.created_at <= ?::bigint', timeOf(cursor))
  const left = new Conditions(conditions.values)
  if (userId !== null) {
    matching(conditions, { userId })
    matching(left, { issuerId, clientId, eventTypes })
  } else if (clientId !== null) {
    matching(conditions, { clientId })
    matching(left, { issuerId })
  } else matching(conditions, { issuerId })
  if (clientId !== null && issuerId !== null) {
    // Else all events of a client would be looked through for an issuer that it is not of.
    const client = `c.account_id = ${conditions.value(accountId)} AND c.id = ${conditions.value(clientId)}`
    conditions.where(`NOT EXISTS (SELECT FROM clients c WHERE ${client} AND c.issuer_id <> ?)`, issuerId)
  }
  const take = conditions.value(count)
  // In this form no index is chosen for it.
  const where = [conditions.text, ...(left.text ? [`(${left.text}) IS TRUE`] : [])].join(' AND ')
  const page = (what: string, ofType = ''): string =>
    `SELECT ${what} FROM events e WHERE ${where}${ofType} ORDER BY e.id DESC LIMIT ${take}`
  if (eventTypes === null && left.text === '') return ask(context, page(columns), conditions)
  const places = 'e.id, e.created_at'
  const found =
    eventTypes === null || userId !== null
      ? page(places)
      : `SELECT newest.* FROM unnest(${conditions.value([...new Set(eventTypes)])}::text[]) AS t(type)
         CROSS JOIN LATERAL (${page(places, ' AND e.type = t.type')}) newest ORDER BY newest.id DESC LIMIT ${take}`
  const text = `SELECT ${columns} FROM (${found}) found
    JOIN events e ON e.account_id = ${conditions.value(accountId)} AND e.id = found.id AND e.created_at = found.created_at
    ORDER BY e.id DESC`
  return ask(context, text, conditions)
}

const ask = (context: Context, text: string, { values }: Conditions): Promise<Row[]> =>
  context.query<Row>(nameOf(text), text, values)

/** One name, one text, for prepared statements: there is one for each set of filters. */
const names = new Map<string, string>()
export function nameOf(text: string): string {
  const name = names.get(text) ?? `events-${names.size}`
  names.set(text, name)
  return name
}

const oneText = `SELECT ${columns} FROM events e WHERE e.account_id = $1 AND e.id = $2 AND e.created_at = $3::bigint`

/** @throws not_found */
export async function getEvent(context: Context, { accountId, eventId }: EventPlace): Promise<Event> {
  const values = [accountId, eventId, isId('evt', eventId) ? timeOf(eventId) : 0]
  const [event] = await context.query<Row>('event', oneText, values)
  if (!event) throw notFound('event')
  return event
}

/** A thing whose newest events are asked for. */
export type EventSubject = 'account' | 'issuer' | 'user' | 'client'

/** What a DataLoader has as its key: the subject with its account. */
export const subjectKey = (accountId: string, id: string): string => `${accountId} ${id}`

const newestText = (subject: EventSubject): string => `
  SELECT ${columns}, subject.key FROM unnest($1::text[], $2::text[], $3::text[]) AS subject(key, account_id, id)
  CROSS JOIN LATERAL (
    SELECT * FROM events e WHERE e.account_id = subject.account_id
      ${subject === 'account' ? '' : `AND e.${subject}_id = subject.id`}
    ORDER BY e.id DESC LIMIT $4) e
  ORDER BY e.id DESC`

const newestOf =
  (subject: EventSubject) =>
  async (context: Context, keys: readonly string[], limit: number): Promise<Page<Event>[]> => {
    const parts = keys.map((key) => key.split(' '))
    const values = [[...keys], parts.map(([account]) => account), parts.map(([, id]) => id), limit + 1]
    const rows = await context.query<Row & { key: string }>(`events-of-${subject}`, newestText(subject), values)
    return keys.map((key) =>
      pageOf(
        rows.filter((row) => row.key === key),
        limit,
      ),
    )
  }

/** The newest events of several subjects of a kind, in one query. */
export const eventsOf = {
  account: newestOf('account'),
  issuer: newestOf('issuer'),
  user: newestOf('user'),
  client: newestOf('client'),
}
