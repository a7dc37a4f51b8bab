/**
 * Where a browser stands in signing in (security rule 22): a row on the server, moved by compare-and-set only. A form
 * carries the version that it was shown for, under a keyed hash, so that it can be answered once, in order, and by the
 * browser that it was shown to.
 */
import { createHmac } from 'node:crypto'
import type { Context } from '../../platform/context.js'
import type { Prisma } from '../../platform/database.js'
import { sameText } from '../../platform/secrets.js'
import type { SignInUser } from '../../resources/credentials/sign-in.js'
import { scope } from '../scope.js'
import { INTERACTION_LIFETIME } from '../tokens.js'

/** The steps, in no particular order: which comes next is for each step to say. */
export type StepName = 'password' | 'new_password'

export interface LoginState {
  step: StepName | 'done'
  /** As typed last, to be shown again. */
  username: string
  /** Known from the first factor on. */
  user: SignInUser | null
  /** What was proved, in terms of `amr` (RFC 8176) and of our own methods. */
  amr: string[]
  methods: string[]
}

export interface Standing {
  state: LoginState
  version: number
}

const beginning = (username: string): LoginState => ({ step: 'password', username, user: null, amr: [], methods: [] })

/** How far this interaction has come. One that nobody has answered yet has no row. */
export async function standingOf(uid: string, loginHint: string | undefined): Promise<Standing> {
  const { context, runtime } = scope()
  const row = await context.db.loginState.findUnique({ where: { issuerId_uid: { issuerId: runtime.issuer.id, uid } } })
  if (!row) return { state: beginning(loginHint?.slice(0, 254) ?? ''), version: 0 }
  return { state: row.state as unknown as LoginState, version: row.version }
}

/** Somebody answered this form already, or it belongs to an earlier step. */
export class StaleForm extends Error {}

/**
 * Moves from one version to the next. Call it in the transaction of what the move brings about.
 * @throws StaleForm when the version is no longer the current one
 */
export async function move(inside: Context, uid: string, { version }: Standing, to: LoginState): Promise<void> {
  const { id: issuerId, accountId } = scope().runtime.issuer
  const state = { ...to } as unknown as Prisma.InputJsonObject
  const data = { state, version: version + 1 }
  const expiresAt = inside.now() + INTERACTION_LIFETIME * 1000
  const { count } =
    version === 0
      ? await inside.db.loginState.createMany({
          data: [{ ...data, issuerId, uid, accountId, expiresAt }],
          skipDuplicates: true,
        })
      : await inside.db.loginState.updateMany({ where: { issuerId, uid, version }, data })
  if (count === 0) throw new StaleForm()
}

/** The hidden field of a form: says which version it was shown for, and that we showed it. */
export function formToken(purpose: string, version: number): string {
  const { context, runtime } = scope()
  const key = context.sealer.derive('forms of the hosted pages')
  const seal = createHmac('sha256', key).update(`${runtime.issuer.id} ${purpose} ${version}`).digest('base64url')
  return `${version}.${seal}`
}

/** The version that a form was shown for; undefined when we never showed such a form. */
export function formVersion(purpose: string, token: string | undefined): number | undefined {
  const version = Number(/^(\d{1,9})\./.exec(token ?? '')?.[1] ?? Number.NaN)
  return Number.isInteger(version) && sameText(formToken(purpose, version), token!) ? version : undefined
}
