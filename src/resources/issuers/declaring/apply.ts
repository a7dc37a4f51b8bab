/** Applies an issuer document in one transaction, or plans the changes without applying them (a dry run). */
import { ApiError } from '../../../kernel/errors.js'
import { snakeCase } from '../../../kernel/field-names.js'
import { checkInput } from '../../../kernel/input.js'
import type { Context } from '../../../platform/context.js'
import { transaction } from '../../../platform/postgres/transaction.js'
import type { InAccount, InIssuer } from '../../resource-path.js'
import { declarationRules, readIssuerState } from './declaration.js'
import { diffValues } from './differences.js'
import { type CreatedSecret, createDeclaredIssuer, createPlan, type PlanOptions, type PlanStep } from './plan.js'

export interface ApplyResult {
  /** Undefined for a dry run that would create the issuer. */
  issuerId: string | undefined
  steps: PlanStep[]
  /** Secrets that were generated for created clients; empty for a dry run. */
  createdSecrets: CreatedSecret[]
}

/** Thrown to roll back a dry run. */
class DryRunRollback extends Error {}

/**
 * Plans and runs the steps in one transaction. Without `confirmed` (a dry run), the transaction is rolled back, so that
 * the same rules check a dry run and a confirmed run.
 * @param resourcePath an issuer; or an account, if the issuer is identified by the name in the document. An issuer with
 *   this name is created if the account has none.
 * @throws ApiError. If the document or a step is invalid, its details contain paths in the document as `field`.
 */
export async function applyDeclaration(
  context: Context,
  resourcePath: InIssuer | InAccount,
  value: unknown,
  options: PlanOptions & { confirmed: boolean },
): Promise<ApplyResult> {
  const document = checkInput(declarationRules, value)
  let result: ApplyResult | undefined
  const applyInTransaction = async (tx: Context): Promise<void> => {
    const createdSecrets: CreatedSecret[] = []
    const steps: PlanStep[] = []
    let issuerPath =
      'issuerId' in resourcePath ? resourcePath : await findIssuerByName(tx, resourcePath, document.issuer['name'])
    const isNew = issuerPath === undefined
    if (!issuerPath) {
      issuerPath = await withDocumentPath(['issuer'], () => createDeclaredIssuer(tx, resourcePath, document))
      const differences = diffValues('', undefined, document.issuer)
      steps.push({
        action: 'create',
        label: `issuer ${JSON.stringify(document.issuer['name'])}`,
        path: ['issuer'],
        differences,
        run: async () => undefined,
      })
    }
    const planned = await createPlan(tx, issuerPath, await readIssuerState(tx, issuerPath), document, options)
    for (const step of planned) {
      const secret = await withDocumentPath(step.path, () => step.run(tx, issuerPath))
      if (secret) createdSecrets.push(secret)
    }
    steps.push(...planned)
    result = {
      issuerId: isNew && !options.confirmed ? undefined : issuerPath.issuerId,
      steps,
      createdSecrets: options.confirmed ? createdSecrets : [],
    }
    if (!options.confirmed) throw new DryRunRollback()
  }
  try {
    await transaction(context, applyInTransaction)
  } catch (error) {
    if (!(error instanceof DryRunRollback)) throw error
  }
  return result!
}

/**
 * Returns the issuer of the account with this name; undefined for none or if the name is not a string.
 * @throws conflict if there are several
 */
async function findIssuerByName(
  context: Context,
  { accountId }: InAccount,
  name: unknown,
): Promise<InIssuer | undefined> {
  if (typeof name !== 'string') return undefined
  const rows = await context.db.issuer.findMany({
    where: { accountId, name: name.trim(), status: { not: 'deleted' } },
    select: { id: true },
    take: 2,
  })
  if (rows.length > 1)
    throw new ApiError('conflict', `The account has several issuers with the name ${name}. Select one with --issuer.`)
  return rows[0] && { accountId, issuerId: rows[0].id }
}

/** Runs `work` and converts the fields in the details of its errors to paths in the document. */
async function withDocumentPath<T>(path: (string | number)[], work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const field = path.map(String).join('.')
    const details = error.options.details?.map((detail) => ({
      ...detail,
      field: `${field}.${documentFieldName(detail.field)}`,
    }))
    throw new ApiError(error.code, `${field}: ${error.message}`, {
      details: details ?? [{ field, code: error.code, message: error.message }],
    })
  }
}

/** Converts `logoUrl` to `logo_url` and `redirect_uris[0]` to `redirect_uris.0`. */
const documentFieldName = (field: string): string =>
  field
    .replace(/\[(\d+)\]/g, '.$1')
    .split('.')
    .map((part, at) => (at === 0 ? snakeCase(part) : part))
    .join('.')
