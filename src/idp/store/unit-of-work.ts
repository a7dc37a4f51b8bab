/**
 * The writes of one request. The writes of oidc-provider's adapter are collected and committed in one statement (in one
 * transaction with the changes of `addChange`): either a code or refresh token is consumed, its successor stored and
 * its session updated, or nothing is written. Therefore a request that fails halfway loses no token, at most one of
 * several concurrent redemptions succeeds, and a refresh costs one write (docs/decisions/0006).
 */
import type { AdapterPayload } from 'oidc-provider'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { type DatabaseHandle } from '../../platform/postgres/database.js'
import { translateDatabaseError } from '../../platform/postgres/errors.js'
import { inBatches } from '../../platform/postgres/query-coalescing.js'
import { transaction } from '../../platform/postgres/transaction.js'

export interface Artifact {
  kind: string
  /** The id in the database: a hash if the original id is a secret. */
  id: string
}

interface ArtifactSave extends Artifact {
  uid: string | null
  grant_id: string | null
  payload: AdapterPayload
  expires_at: number | null
  /** Updates the row, but does not insert it if it no longer exists. */
  update_only: boolean
}

interface SessionUpdate {
  sid: string
  access_jti: string | null
  refresh_jti: string | null
  replaced_jti: string | null
  idle_expires_at: number | null
}

/**
 * The browser session of this request was ended, or replaced by another response, before the request was committed, or
 * its user may no longer start a session.
 */
export class SignInEndedError extends Error {}

/** Another request has already consumed or deleted the code or refresh token of this request. */
export class AlreadyConsumedError extends Error {
  constructor(readonly grantIds: string[]) {
    super('the code or refresh token was already consumed')
  }
}

const lastTokenIds = (list: string): string =>
  `(${list})[greatest(1, cardinality(${list}) - ${limits.maxTokenIdsPerSession - 1}):]`

/**
 * Commits the units of work of several requests in one statement. `n` is the position of a request in the batch. The
 * result of one request does not depend on the others.
 */
const commitText = `
  WITH batch AS (
    SELECT n, j, j->>'issuerId' AS issuer_id, (j->>'now')::bigint AS now
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS element(j, n)
  ),
  consumed AS (
    UPDATE idp_artifacts a SET consumed_at = w.now
    FROM (SELECT n, issuer_id, now, kind, id FROM batch, jsonb_to_recordset(j->'consume') AS c(kind text, id text)) w
    WHERE a.issuer_id = w.issuer_id AND a.kind = w.kind AND a.id = w.id AND a.consumed_at IS NULL
    RETURNING w.n
  ),
  locked AS (
    SELECT w.n FROM idp_artifacts a JOIN (SELECT n, issuer_id, kind, id FROM batch,
      jsonb_to_recordset(j->'lock') AS h(kind text, id text)) w USING (issuer_id, kind, id) FOR UPDATE OF a
  ),
  decision AS (
    SELECT batch.*, (SELECT count(*) FROM consumed WHERE consumed.n = batch.n) = jsonb_array_length(j->'consume')
      AND (SELECT count(*) FROM locked WHERE locked.n = batch.n) = jsonb_array_length(j->'lock') AS won
    FROM batch
  ),
  deleted AS (
    DELETE FROM idp_artifacts a USING decision v, jsonb_to_recordset(v.j->'delete') AS d(kind text, id text)
    WHERE v.won AND a.issuer_id = v.issuer_id AND a.kind = d.kind AND a.id = d.id
  ),
  inserted AS (
    INSERT INTO idp_artifacts (issuer_id, kind, id, uid, grant_id, payload, expires_at)
    SELECT v.issuer_id, p.kind, p.id, p.uid, p.grant_id, p.payload, p.expires_at
    FROM decision v, jsonb_to_recordset(v.j->'save')
      AS p(kind text, id text, uid text, grant_id text, payload jsonb, expires_at bigint, update_only boolean)
    WHERE v.won AND NOT p.update_only
    ON CONFLICT (issuer_id, kind, id) DO UPDATE SET uid = excluded.uid, grant_id = excluded.grant_id,
      payload = excluded.payload, expires_at = excluded.expires_at
  ),
  updated AS (
    UPDATE idp_artifacts a SET uid = p.uid, payload = p.payload, expires_at = p.expires_at
    FROM decision v, jsonb_to_recordset(v.j->'save')
      AS p(kind text, id text, uid text, payload jsonb, expires_at bigint, update_only boolean)
    WHERE v.won AND p.update_only AND a.issuer_id = v.issuer_id AND a.kind = p.kind AND a.id = p.id
  ),
  updated_sessions AS (
    UPDATE sessions s SET last_activity_at = v.now, updated_at = v.now,
      idle_expires_at = t.idle_expires_at,
      access_token_jti = CASE WHEN t.access_jti IS NULL THEN s.access_token_jti
        ELSE ${lastTokenIds('s.access_token_jti || t.access_jti')} END,
      refresh_token_jti = CASE WHEN t.refresh_jti IS NULL THEN s.refresh_token_jti
        ELSE ${lastTokenIds('array_remove(s.refresh_token_jti, t.replaced_jti) || t.refresh_jti')} END
    FROM decision v, jsonb_to_recordset(v.j->'update')
      AS t(sid text, access_jti text, refresh_jti text, replaced_jti text, idle_expires_at bigint)
    WHERE v.won AND s.issuer_id = v.issuer_id AND s.id = t.sid
  )
  SELECT won FROM decision ORDER BY n`

interface CommitInput {
  issuerId: string
  now: number
  consume: Artifact[]
  /**
   * Rows of browser sessions that must still exist: an ended browser session must not be stored again, and must not
   * start new sessions.
   */
  lock: Artifact[]
  delete: Artifact[]
  save: ArtifactSave[]
  update: SessionUpdate[]
}

/**
 * Returns keys of the rows that a request writes. One statement can change a row only once, so requests with a common
 * key are committed in different batches.
 */
const conflictKeysOf = ({ issuerId, consume, lock, delete: deleted, save, update }: CommitInput): string[] =>
  [...consume, ...lock, ...deleted, ...save]
    .map(({ kind, id }) => `${issuerId} ${kind} ${id}`)
    .concat(update.map(({ sid }) => `${issuerId} ${sid}`))

const committers = new WeakMap<DatabaseHandle, (input: CommitInput) => Promise<boolean>>()

/**
 * Commits the writes of a request, in one statement with those of other requests.
 * @returns false if an artifact was already consumed or deleted, or if a row to lock was deleted; then the other writes
 *   are not done
 */
function commitInBatch(tools: DatabaseHandle, input: CommitInput): Promise<boolean> {
  let committer = committers.get(tools)
  if (!committer) {
    committer = inBatches<CommitInput, boolean>({
      exclusiveKeysOf: conflictKeysOf,
      runBatch: async (batch) => {
        const values = [JSON.stringify(batch)]
        const { rows } = await tools.pool.query<{ won: boolean }>({
          name: 'idp-unit-of-work',
          text: commitText,
          values,
        })
        return rows.map(({ won }) => won)
      },
    })
    committers.set(tools, committer)
  }
  return committer(input)
}

/** Collects the writes of one request until `commit` writes them. */
export class UnitOfWork {
  readonly #saves = new Map<string, ArtifactSave>()
  readonly #deletes = new Map<string, Artifact>()
  readonly #consumes = new Map<string, Artifact & { grantId: string | undefined }>()
  readonly #sessionUpdates = new Map<string, SessionUpdate>()
  readonly #loaded = new Map<string, AdapterPayload>()
  readonly #loadedSessions = new Map<string, Artifact>()
  #changes: ((tx: Context) => Promise<void>)[] = []

  /** @param idleTimeout idle timeout of sessions in seconds; undefined for none */
  constructor(
    readonly issuerId: string,
    private readonly idleTimeout: number | undefined,
  ) {}

  /** Stores the payload of an artifact that this request has read, which later reads and writes use. */
  recordLoaded({ kind, id }: Artifact, payload: AdapterPayload): void {
    this.#loaded.set(`${kind} ${id}`, payload)
    if (kind === 'Session') this.#loadedSessions.set(id, { kind, id })
  }

  /** Returns the payload of an artifact that this request has read; undefined if it has not. */
  loadedPayload({ kind, id }: Artifact): AdapterPayload | undefined {
    return this.#loaded.get(`${kind} ${id}`)
  }

  /** Returns the payload that `commit` will write; null if `commit` will delete the artifact, undefined if neither. */
  pendingPayload({ kind, id }: Artifact): AdapterPayload | null | undefined {
    const key = `${kind} ${id}`
    return this.#deletes.has(key) ? null : this.#saves.get(key)?.payload
  }

  save(artifact: Artifact, row: Omit<ArtifactSave, 'kind' | 'id' | 'update_only'>): void {
    const key = `${artifact.kind} ${artifact.id}`
    this.#deletes.delete(key)
    const update_only = artifact.kind === 'Session' && this.#loaded.has(key)
    this.#saves.set(key, { ...artifact, ...row, update_only })
  }

  delete(artifact: Artifact): void {
    const key = `${artifact.kind} ${artifact.id}`
    this.#saves.delete(key)
    this.#deletes.set(key, artifact)
  }

  /** Consumes an artifact. `commit` fails if another request has consumed or deleted the artifact before. */
  consume(artifact: Artifact): void {
    const key = `${artifact.kind} ${artifact.id}`
    this.#consumes.set(key, { ...artifact, grantId: this.#loaded.get(key)?.grantId })
  }

  /**
   * Records the use of a session: restarts its idle timeout and adds the ids of its new tokens.
   * @param jtis ids of the new access and refresh token, and of the refresh token that was replaced
   */
  updateSession(
    context: Context,
    sid: string,
    jtis: { access?: string; refresh?: string; replaced?: string } = {},
  ): void {
    const previous = this.#sessionUpdates.get(sid)
    this.#sessionUpdates.set(sid, {
      sid,
      access_jti: jtis.access ?? previous?.access_jti ?? null,
      refresh_jti: jtis.refresh ?? previous?.refresh_jti ?? null,
      replaced_jti: jtis.replaced ?? previous?.replaced_jti ?? null,
      idle_expires_at: this.idleTimeout === undefined ? null : context.now() + this.idleTimeout * 1000,
    })
  }

  /** Adds other writes, such as events, to the transaction of `commit`. */
  addChange(work: (tx: Context) => Promise<void>): void {
    this.#changes.push(work)
  }

  /** Discards all writes after a failure, so that nothing is stored and nothing consumed. */
  discard(): void {
    for (const list of [this.#saves, this.#deletes, this.#consumes, this.#sessionUpdates]) list.clear()
    this.#changes = []
  }

  /** Returns the browser sessions that this request has read, if it saves a browser session, possibly with a new id. */
  #sessionsToLock(): Artifact[] {
    if (![...this.#saves.values()].some(({ kind }) => kind === 'Session')) return []
    return [...this.#loadedSessions.values()]
  }

  /**
   * Commits all writes.
   * @throws AlreadyConsumedError if another request consumed or deleted an artifact first; SignInEndedError if another
   *   request ended or replaced the browser session first, or if the user may no longer start a session. In these cases
   *   nothing is written.
   */
  async commit(context: Context): Promise<void> {
    const consume = [...this.#consumes.values()]
    const changes = this.#changes
    const sizes = [this.#saves.size, this.#deletes.size, consume.length, this.#sessionUpdates.size, changes.length]
    if (sizes.every((size) => size === 0)) return
    const input: CommitInput = {
      issuerId: this.issuerId,
      now: context.now(),
      consume: consume.map(({ kind, id }) => ({ kind, id })),
      lock: this.#sessionsToLock(),
      delete: [...this.#deletes.values()],
      save: [...this.#saves.values()],
      update: [...this.#sessionUpdates.values()],
    }
    const conflictError = () =>
      consume.length === 0
        ? new SignInEndedError()
        : new AlreadyConsumedError(consume.flatMap(({ grantId }) => grantId ?? []))
    if (changes.length === 0 && context.db === context.database.prisma) {
      const won = await commitInBatch(context.database, input).catch((error) => {
        throw translateDatabaseError(error)
      })
      if (!won) throw conflictError()
    } else {
      await transaction(context, async (tx) => {
        const [row] = await tx.query<{ won: boolean }>('idp-unit-of-work', commitText, [JSON.stringify([input])])
        if (!row?.won) throw conflictError()
        for (const change of changes) await change(tx)
      })
    }
    this.discard()
  }
}
