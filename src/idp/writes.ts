/**
 * What one request writes. The library's adapter calls are gathered here and written at the end, in one statement: a
 * code or refresh token is consumed, its successor stored and its session touched, or none of it. So a request that
 * fails half-way loses no token, parallel redemptions have one winner, and a refresh costs one write.
 */
import type { AdapterPayload } from 'oidc-provider'
import type { Context } from '../platform/context.js'
import { type Tools, transaction, translated } from '../platform/database.js'
import { inBatches } from '../platform/together.js'

export interface Artifact {
  kind: string
  /** As stored: a hash where the id is a secret. */
  id: string
}

interface Put extends Artifact {
  uid: string | null
  grant_id: string | null
  payload: AdapterPayload
  expires_at: number | null
  /** The row is there already. */
  update_only: boolean
}

interface Touch {
  sid: string
  access_jti: string | null
  refresh_jti: string | null
  gone_jti: string | null
  idle_expires_at: number | null
}

/** The browser's sign-in that an answer builds on was ended, or renewed by another answer, while this one was made. */
export class SignedOutMeanwhile extends Error {}

/** Somebody else redeemed the same code or refresh token first. */
export class AlreadyConsumed extends Error {
  constructor(readonly grantIds: string[]) {
    super('already consumed')
  }
}

/** How many ids of tokens a session remembers of each kind. */
const REMEMBERED = 10
const remembered = (list: string): string => `(${list})[greatest(1, cardinality(${list}) - ${REMEMBERED - 1}):]`

/** Requests in one statement, numbered as they come. What is true of one is true of none but it. */
const text = `
  WITH asked AS (
    SELECT n, j, j->>'issuerId' AS issuer_id, (j->>'now')::bigint AS now
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS element(j, n)
  ),
  consumed AS (
    UPDATE idp_artifacts a SET consumed_at = w.now
    FROM (SELECT n, issuer_id, now, kind, id FROM asked, jsonb_to_recordset(j->'consume') AS c(kind text, id text)) w
    WHERE a.issuer_id = w.issuer_id AND a.kind = w.kind AND a.id = w.id AND a.consumed_at IS NULL
    RETURNING w.n
  ),
  held AS (
    SELECT w.n FROM idp_artifacts a JOIN (SELECT n, issuer_id, kind, id FROM asked,
      jsonb_to_recordset(j->'hold') AS h(kind text, id text)) w USING (issuer_id, kind, id) FOR UPDATE OF a
  ),
  verdict AS (
    SELECT asked.*, (SELECT count(*) FROM consumed WHERE consumed.n = asked.n) = jsonb_array_length(j->'consume')
      AND (SELECT count(*) FROM held WHERE held.n = asked.n) = jsonb_array_length(j->'hold') AS won
    FROM asked
  ),
  destroyed AS (
    DELETE FROM idp_artifacts a USING verdict v, jsonb_to_recordset(v.j->'destroy') AS d(kind text, id text)
    WHERE v.won AND a.issuer_id = v.issuer_id AND a.kind = d.kind AND a.id = d.id
  ),
  inserted AS (
    INSERT INTO idp_artifacts (issuer_id, kind, id, uid, grant_id, payload, expires_at)
    SELECT v.issuer_id, p.kind, p.id, p.uid, p.grant_id, p.payload, p.expires_at
    FROM verdict v, jsonb_to_recordset(v.j->'put')
      AS p(kind text, id text, uid text, grant_id text, payload jsonb, expires_at bigint, update_only boolean)
    WHERE v.won AND NOT p.update_only
    ON CONFLICT (issuer_id, kind, id) DO UPDATE SET uid = excluded.uid, grant_id = excluded.grant_id,
      payload = excluded.payload, expires_at = excluded.expires_at
  ),
  updated AS (
    UPDATE idp_artifacts a SET uid = p.uid, payload = p.payload, expires_at = p.expires_at
    FROM verdict v, jsonb_to_recordset(v.j->'put')
      AS p(kind text, id text, uid text, payload jsonb, expires_at bigint, update_only boolean)
    WHERE v.won AND p.update_only AND a.issuer_id = v.issuer_id AND a.kind = p.kind AND a.id = p.id
  ),
  touched AS (
    UPDATE sessions s SET last_activity_at = v.now, updated_at = v.now,
      idle_expires_at = t.idle_expires_at,
      access_token_jti = CASE WHEN t.access_jti IS NULL THEN s.access_token_jti
        ELSE ${remembered('s.access_token_jti || t.access_jti')} END,
      refresh_token_jti = CASE WHEN t.refresh_jti IS NULL THEN s.refresh_token_jti
        ELSE ${remembered('array_remove(s.refresh_token_jti, t.gone_jti) || t.refresh_jti')} END
    FROM verdict v, jsonb_to_recordset(v.j->'touch')
      AS t(sid text, access_jti text, refresh_jti text, gone_jti text, idle_expires_at bigint)
    WHERE v.won AND s.issuer_id = v.issuer_id AND s.id = t.sid
  )
  SELECT won FROM verdict ORDER BY n`

interface Input {
  issuerId: string
  now: number
  consume: Artifact[]
  /** What must still be there: a browser session that was ended meanwhile must not come back, nor begin others. */
  hold: Artifact[]
  destroy: Artifact[]
  put: Put[]
  touch: Touch[]
}

/** A statement changes a row only once: requests about the same one go one after the other. */
const thingsOf = ({ issuerId, consume, hold, destroy, put, touch }: Input): string[] =>
  [...consume, ...hold, ...destroy, ...put]
    .map(({ kind, id }) => `${issuerId} ${kind} ${id}`)
    .concat(touch.map(({ sid }) => `${issuerId} ${sid}`))

const writers = new WeakMap<Tools, (input: Input) => Promise<boolean>>()

/** Writes what a request has gathered, in one statement with that of others. @returns false if it came too late */
function write(tools: Tools, input: Input): Promise<boolean> {
  let writer = writers.get(tools)
  if (!writer) {
    writer = inBatches<Input, boolean>({
      thingsOf,
      answer: async (batch) => {
        const values = [JSON.stringify(batch)]
        const { rows } = await tools.pool.query<{ won: boolean }>({ name: 'idp-writes', text, values })
        return rows.map(({ won }) => won)
      },
    })
    writers.set(tools, writer)
  }
  return writer(input)
}

export class Writes {
  readonly #puts = new Map<string, Put>()
  readonly #destroys = new Map<string, Artifact>()
  readonly #consumes = new Map<string, Artifact & { grantId: string | undefined }>()
  readonly #touches = new Map<string, Touch>()
  readonly #found = new Map<string, AdapterPayload>()
  readonly #sessions = new Map<string, Artifact>()
  #changes: ((inside: Context) => Promise<void>)[] = []

  constructor(
    readonly issuerId: string,
    private readonly idleTimeout: number | undefined,
  ) {}

  /** Remembers what was read, for what is written later depends on it. */
  remember({ kind, id }: Artifact, payload: AdapterPayload): void {
    this.#found.set(`${kind} ${id}`, payload)
    if (kind === 'Session') this.#sessions.set(id, { kind, id })
  }

  /** What this request has read already. */
  recall({ kind, id }: Artifact): AdapterPayload | undefined {
    return this.#found.get(`${kind} ${id}`)
  }

  /** What this request has put already; null when it has destroyed it. */
  peek({ kind, id }: Artifact): AdapterPayload | null | undefined {
    const key = `${kind} ${id}`
    return this.#destroys.has(key) ? null : this.#puts.get(key)?.payload
  }

  put(artifact: Artifact, row: Omit<Put, 'kind' | 'id' | 'update_only'>): void {
    const key = `${artifact.kind} ${artifact.id}`
    this.#destroys.delete(key)
    const update_only = artifact.kind === 'Session' && this.#found.has(key)
    this.#puts.set(key, { ...artifact, ...row, update_only })
  }

  destroy(artifact: Artifact): void {
    const key = `${artifact.kind} ${artifact.id}`
    this.#puts.delete(key)
    this.#destroys.set(key, artifact)
  }

  /** One winner: the write as a whole happens only if none of what it consumes was consumed before. */
  consume(artifact: Artifact): void {
    const key = `${artifact.kind} ${artifact.id}`
    this.#consumes.set(key, { ...artifact, grantId: this.#found.get(key)?.grantId })
  }

  /** The session was used: its idle clock starts anew, and it learns the ids of its new tokens. */
  touch(context: Context, sid: string, jtis: { access?: string; refresh?: string; gone?: string } = {}): void {
    const before = this.#touches.get(sid)
    this.#touches.set(sid, {
      sid,
      access_jti: jtis.access ?? before?.access_jti ?? null,
      refresh_jti: jtis.refresh ?? before?.refresh_jti ?? null,
      gone_jti: jtis.gone ?? before?.gone_jti ?? null,
      idle_expires_at: this.idleTimeout === undefined ? null : context.now() + this.idleTimeout * 1000,
    })
  }

  /** A change of another room that belongs to this request, events included. */
  change(work: (inside: Context) => Promise<void>): void {
    this.#changes.push(work)
  }

  /** The request failed: what it gave out is not given out, and what it consumed stays good. */
  forget(): void {
    for (const list of [this.#puts, this.#destroys, this.#consumes, this.#touches]) list.clear()
    this.#changes = []
  }

  /** The browser session that was read, where it is written again, under this id or another. */
  #held(): Artifact[] {
    if (![...this.#puts.values()].some(({ kind }) => kind === 'Session')) return []
    return [...this.#sessions.values()]
  }

  /**
   * Writes everything.
   * @throws AlreadyConsumed or SignedOutMeanwhile when another request came first: then nothing was written
   */
  async flush(context: Context): Promise<void> {
    const consume = [...this.#consumes.values()]
    const changes = this.#changes
    const sizes = [this.#puts.size, this.#destroys.size, consume.length, this.#touches.size, changes.length]
    if (sizes.every((size) => size === 0)) return
    const input: Input = {
      issuerId: this.issuerId,
      now: context.now(),
      consume: consume.map(({ kind, id }) => ({ kind, id })),
      hold: this.#held(),
      destroy: [...this.#destroys.values()],
      put: [...this.#puts.values()],
      touch: [...this.#touches.values()],
    }
    const lost = () =>
      consume.length === 0
        ? new SignedOutMeanwhile()
        : new AlreadyConsumed(consume.flatMap(({ grantId }) => grantId ?? []))
    if (changes.length === 0 && context.db === context.tools.prisma) {
      const won = await write(context.tools, input).catch((error) => {
        throw translated(error)
      })
      if (!won) throw lost()
    } else {
      await transaction(context, async (inside) => {
        const [row] = await inside.query<{ won: boolean }>('idp-writes', text, [JSON.stringify([input])])
        if (!row?.won) throw lost()
        for (const change of changes) await change(inside)
      })
    }
    this.forget()
  }
}
