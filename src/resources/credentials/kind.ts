/** What each kind of verifier says of itself: the body that makes one, how one is made, what of it can be changed. */
import { z } from 'zod'
import { notFound } from '../../kernel/errors.js'
import { newId } from '../../kernel/ids.js'
import { rules } from '../../kernel/input.js'
import type { Context } from '../../platform/context.js'
import { type Issuer, type Prisma, sql, type User, type Verifier } from '../../platform/database.js'
import type { EventType } from '../events/catalogue.js'
import { emit } from '../events/events.js'
import { changesBetween } from '../events/names.js'
import { goneUser, type InUser, ofLivingIssuer } from '../place.js'

export type VerifiersPlace = InUser

export interface VerifierPlace extends VerifiersPlace {
  verifierId: string
}

/** A user together with the issuer whose policies count. */
export type Owner = User & { issuer: Issuer }

/** The answer to a creation: what every verifier shows, and what is shown this once. */
export type NewVerifier = Pick<
  Verifier,
  'id' | 'userId' | 'type' | 'name' | 'description' | 'metadata' | 'mustChange' | 'expiresAt' | 'lastUsedAt'
> &
  Pick<Verifier, 'createdBy' | 'createdAt' | 'updatedAt' | 'data' | 'credentialId'> & {
    enrollmentId?: string
    /** Of a totp enrolment: base32, for people who cannot scan the URI. */
    secret?: string
    provisioningUri?: string
    codesPlain?: string[]
  }

export interface Kind<Shape extends z.ZodRawShape = z.ZodRawShape> {
  /** The body of the POST; `type` names the kind. */
  rules: z.ZodObject<Shape>
  /**
   * Does what is slow or asks others, before the transaction.
   * @returns what to do in the transaction, in which the user's row is locked
   * @throws invalid_request, conflict
   */
  prepare(
    context: Context,
    owner: Owner,
    values: z.infer<z.ZodObject<Shape>>,
  ): Promise<(inside: Context) => Promise<NewVerifier>>
}

/** Keeps the type of the body between its rules and `prepare`. */
export const kindOf = <Shape extends z.ZodRawShape>(kind: Kind<Shape>): Kind<Shape> => kind

/** Fields that every kind takes. The name must be given where spec 2.7 says so; null for no name. */
export const name = z.string('must be a string or null.').max(200, 'must have at most 200 characters.').nullable()
export const described = { description: rules.description.optional(), metadata: rules.metadata.optional() }

/** Bytes in base64url without padding (RFC 4648 section 5). */
export const base64url = (maxBytes: number) =>
  z
    .string('must be a string.')
    .refine((text) => text !== '' && Buffer.from(text, 'base64url').toString('base64url') === text, {
      error: 'must be bytes in base64url without padding.',
      params: { code: 'invalid_format' },
    })
    .max(Math.ceil((maxBytes * 4) / 3), `must have at most ${maxBytes} bytes.`)

/** The user of this place, with the issuer whose policy counts. @throws not_found */
export async function requireOwner(context: Context, place: VerifiersPlace): Promise<Owner> {
  const { accountId, issuerId, userId } = place
  const user = await context.db.user.findFirst({
    where: { id: userId, accountId, issuerId, status: { notIn: goneUser }, ...ofLivingIssuer },
    include: { issuer: true },
  })
  if (!user) throw notFound('user')
  return user
}

/** Locks the user's row, so that one change of verifiers happens at a time and none to a deleted user. */
export async function lockOwner(context: Context, { id, issuerId }: { id: string; issuerId: string }): Promise<void> {
  const text = `SELECT id FROM users WHERE id = $1 AND issuer_id = $2 AND status <> ALL($3::text[]) FOR UPDATE`
  const [row] = await sql(context.db, text, id, issuerId, goneUser)
  if (!row) throw notFound('user')
}

/** Writes a verifier of this user, with its event. */
export async function insertVerifier(
  context: Context,
  { accountId, issuerId, id: userId }: Pick<User, 'accountId' | 'issuerId' | 'id'>,
  given: { description?: string | null | undefined; metadata?: object | null | undefined },
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
      description: given.description ?? null,
      metadata: (given.metadata ?? {}) as Prisma.InputJsonObject,
      ...columns,
      createdBy: columns.createdBy ?? context.actor.id,
      createdAt: now,
      updatedAt: now,
    },
  })
  await toldVerifier(context, 'user.verifier.created', verifier)
  return verifier
}

/** The event of a change to a verifier. */
export async function toldVerifier(
  context: Context,
  type: EventType,
  verifier: Verifier,
  before?: Verifier,
): Promise<void> {
  const { accountId, issuerId, userId, id } = verifier
  await emit(context, type, {
    accountId,
    issuerId,
    userId,
    target: { type: 'verifier', id },
    data: { type: verifier.type },
    changes: before ? changesBetween('verifier', before, verifier) : {},
  })
}
