/** Applies a document to an issuer, all of it or nothing; or only says what that would change. */
import { ApiError } from '../../../kernel/errors.js'
import { check } from '../../../kernel/input.js'
import { snake } from '../../../kernel/names.js'
import type { Context } from '../../../platform/context.js'
import { transaction } from '../../../platform/database.js'
import type { InAccount, InIssuer } from '../../place.js'
import { declarationRules, presentOf } from './declaration.js'
import { leaves } from './differences.js'
import { type Made, makeIssuer, type PlanOptions, planOf, type Step } from './plan.js'

export interface Result {
  /** Undefined for an issuer that does not exist yet, and was only planned. */
  issuerId: string | undefined
  steps: Step[]
  /** Secrets that were made. */
  made: Made[]
}

/** What is thrown to take everything back. */
class Rehearsed extends Error {}

/**
 * Plans and runs the steps in one transaction. Without `agreed` it is taken back at the end, so that a plan meets every
 * rule that the real thing would.
 * @param place an account: the issuer of the document's name there, made if there is none
 * @throws ApiError whose details name places in the document
 */
export async function applyDeclaration(
  context: Context,
  place: InIssuer | InAccount,
  value: unknown,
  options: PlanOptions & { agreed: boolean },
): Promise<Result> {
  const document = check(declarationRules, value)
  let result: Result | undefined
  const work = async (inside: Context): Promise<void> => {
    const made: Made[] = []
    const steps: Step[] = []
    let at = 'issuerId' in place ? place : await named(inside, place, document.issuer['name'])
    const isNew = at === undefined
    if (!at) {
      at = await located(['issuer'], () => makeIssuer(inside, place, document))
      const differences = leaves('', undefined, document.issuer)
      steps.push({
        action: 'create',
        what: `issuer ${JSON.stringify(document.issuer['name'])}`,
        path: ['issuer'],
        differences,
        run: async () => undefined,
      })
    }
    const planned = await planOf(inside, at, await presentOf(inside, at), document, options)
    for (const step of planned) {
      const secret = await located(step.path, () => step.run(inside, at))
      if (secret) made.push(secret)
    }
    steps.push(...planned)
    result = { issuerId: isNew && !options.agreed ? undefined : at.issuerId, steps, made: options.agreed ? made : [] }
    if (!options.agreed) throw new Rehearsed()
  }
  try {
    await transaction(context, work)
  } catch (error) {
    if (!(error instanceof Rehearsed)) throw error
  }
  return result!
}

/** The issuer of this name in the account, if there is exactly one. */
async function named(context: Context, { accountId }: InAccount, name: unknown): Promise<InIssuer | undefined> {
  if (typeof name !== 'string') return undefined
  const rows = await context.db.issuer.findMany({
    where: { accountId, name: name.trim(), status: { not: 'deleted' } },
    select: { id: true },
    take: 2,
  })
  if (rows.length > 1)
    throw new ApiError('conflict', `The account has several issuers called ${name}; say which by --issuer.`)
  return rows[0] && { accountId, issuerId: rows[0].id }
}

/** Says where in the document the faults of an operation are, under the names that stand there. */
async function located<T>(path: (string | number)[], work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const place = path.map(String).join('.')
    const details = error.more.details?.map((detail) => ({ ...detail, field: `${place}.${plain(detail.field)}` }))
    throw new ApiError(error.code, `${place}: ${error.message}`, {
      details: details ?? [{ field: place, code: error.code, message: error.message }],
    })
  }
}

/** `logoUrl` as `logo_url`, `redirect_uris[0]` as `redirect_uris.0`. */
const plain = (field: string): string =>
  field
    .replace(/\[(\d+)\]/g, '.$1')
    .split('.')
    .map((part, at) => (at === 0 ? snake(part) : part))
    .join('.')
