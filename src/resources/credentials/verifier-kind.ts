/** The interface of a verifier kind, and the functions that all kinds share. */
import { z } from 'zod'
import { notFound } from '../../kernel/errors.js'
import { newId } from '../../kernel/ids.js'
import { fieldSchemas } from '../../kernel/input.js'
import type { Context } from '../../platform/context.js'
import { type Issuer, type Prisma, sql, type User, type Verifier } from '../../platform/postgres/database.js'
import type { EventType } from '../events/event-catalog.js'
import { changesBetween } from '../events/event-fields.js'
import { recordEvent } from '../events/record-event.js'
import { deletedUserStatuses, type InUser, whereIssuerNotDeleted } from '../resource-path.js'

/** A user who has verifiers, and the user's issuer, whose policies apply to them. */
export type VerifierOwner = User & { issuer: Issuer }

/**
 * The result of creating a verifier or a pending enrollment. Only the response to the creation contains the additional
 * fields, most of which are secrets.
 */
export type CreatedVerifier = Pick<
  Verifier,
  'id' | 'userId' | 'type' | 'name' | 'description' | 'metadata' | 'mustChange' | 'expiresAt' | 'lastUsedAt'
> &
  Pick<Verifier, 'createdBy' | 'createdAt' | 'updatedAt' | 'data' | 'credentialId'> & {
    enrollmentId?: string
    /** Secret of a TOTP enrollment in base32, for users who cannot scan the URI. */
    secret?: string
    provisioningUri?: string
    /** Backup codes. */
    codesPlain?: string[]
  }

export interface VerifierKind<Shape extends z.ZodRawShape = z.ZodRawShape> {
  /** Rules of the input. They contain the literal `type`, by which `createRules` selects the kind. */
  rules: z.ZodObject<Shape>
  /**
   * Does slow work and external calls before the transaction.
   * @returns a function that stores the verifier. Call it in a transaction that has locked the user's row
   *   (`lockVerifierOwner`). It can throw conflict.
   * @throws invalid_request
   */
  prepare(
    context: Context,
    owner: VerifierOwner,
    values: z.infer<z.ZodObject<Shape>>,
  ): Promise<(tx: Context) => Promise<CreatedVerifier>>
}

/** Gives `prepare` the type of the values that `rules` parses. */
export const defineVerifierKind = <Shape extends z.ZodRawShape>(kind: VerifierKind<Shape>): VerifierKind<Shape> => kind

/** Rules of the optional fields that all kinds have. */
export const descriptionFields = {
  description: fieldSchemas.description.optional(),
  metadata: fieldSchemas.metadata.optional(),
}

/**
 * Returns the rule of bytes in base64url without padding (RFC 4648 section 5).
 * @param maxBytes maximum number of decoded bytes
 */
export const base64url = (maxBytes: number) =>
  z
    .string('must be a string.')
    .refine((text) => text !== '' && Buffer.from(text, 'base64url').toString('base64url') === text, {
      error: 'must be bytes in base64url without padding.',
      params: { code: 'invalid_format' },
    })
    .max(Math.ceil((maxBytes * 4) / 3), `must have at most ${maxBytes} bytes.`)

/** Returns the user of this path and the user's issuer. @throws not_found */
export async function requireVerifierOwner(context: Context, path: InUser): Promise<VerifierOwner> {
  const { accountId, issuerId, userId } = path
  const user = await context.db.user.findFirst({
    where: { id: userId, accountId, issuerId, status: { notIn: deletedUserStatuses }, ...whereIssuerNotDeleted },
    include: { issuer: true },
  })
  if (!user) throw notFound('user')
  return user
}

/**
 * Locks the user's row until the transaction ends, so that concurrent changes of the user's verifiers wait.
 * @throws not_found for an unknown user, a deleted user or a user whose deletion is pending
 */
export async function lockVerifierOwner(
  context: Context,
  { id, issuerId }: { id: string; issuerId: string },
): Promise<void> {
  const text = `SELECT id FROM users WHERE id = $1 AND issuer_id = $2 AND status <> ALL($3::text[]) FOR UPDATE`
  const [row] = await sql(context.db, text, id, issuerId, deletedUserStatuses)
  if (!row) throw notFound('user')
}

/**
 * Creates a verifier and records `user.verifier.created`.
 * @param fields the description and metadata of the verifier
 * @param columns the other columns of the verifier; `createdBy` is the current actor by default
 */
export async function insertVerifier(
  context: Context,
  { accountId, issuerId, id: userId }: Pick<User, 'accountId' | 'issuerId' | 'id'>,
  fields: { description?: string | null | undefined; metadata?: object | null | undefined },
  columns: Omit<
    Prisma.VerifierUncheckedCreateInput,
    'id' | 'accountId' | 'issuerId' | 'userId' | 'description' | 'metadata' | 'createdAt' | 'updatedAt'
  >,
): Promise<Verifier> {
  const now = context.now()
  const verifier = await context.db.verifier.create({
    data: {
      id: newId('vrf', now),
      accountId,
      issuerId,
      userId,
      description: fields.description ?? null,
      metadata: (fields.metadata ?? {}) as Prisma.InputJsonObject,
      ...columns,
      createdBy: columns.createdBy ?? context.actor.id,
      createdAt: now,
      updatedAt: now,
    },
  })
  await recordVerifierEvent(context, 'user.verifier.created', verifier)
  return verifier
}

/**
 * Records an event about a verifier.
 * @param before the row before an update, from which the changed fields are computed
 */
export async function recordVerifierEvent(
  context: Context,
  type: EventType,
  verifier: Verifier,
  before?: Verifier,
): Promise<void> {
  const { accountId, issuerId, userId, id } = verifier
  await recordEvent(context, type, {
    accountId,
    issuerId,
    userId,
    target: { type: 'verifier', id },
    data: { type: verifier.type },
    changes: before ? changesBetween('verifier', before, verifier) : {},
  })
}
