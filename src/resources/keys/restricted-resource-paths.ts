/**
 * Checks the issuers and organizations in the restrictions of an API key
 * (docs/contract.md#restrictions-of-keys-and-tokens).
 */
import { type ErrorDetail, invalidFields } from '../../kernel/errors.js'
import type { Context } from '../../platform/context.js'
import { requireAccount, whereIssuerNotDeleted } from '../resource-path.js'
import { type KeyOwner, organizationPathOf } from './key-owner.js'
import type { Restrictions } from './restrictions.js'

type RestrictionField = 'issuer_ids' | 'org_ids'

/**
 * Checks that a key of an organization names only that organization and its issuer, and that a key of an account names
 * only resources of the account that are not deleted. Keys of the system account can name resources of every account.
 * @param before the current restrictions; the ids in them may stay, even if their resources are deleted
 * @throws invalid_request with one detail for each invalid id
 */
export async function checkResourcePaths(
  context: Context,
  path: KeyOwner,
  { issuer_ids = [], org_ids = [] }: Restrictions,
  before: Restrictions = {},
): Promise<void> {
  const owner = organizationPathOf(path)
  if (owner) {
    const onlyOwn = (own: string) => ({ known: new Set([own]), code: 'out_of_reach', message: `must be ${own}.` })
    return throwDetails([
      ...unknownIdDetails('issuer_ids', issuer_ids, onlyOwn(owner.issuerId)),
      ...unknownIdDetails('org_ids', org_ids, onlyOwn(owner.orgId)),
    ])
  }
  if (issuer_ids.length + org_ids.length === 0) return
  const { id: accountId, system } = await requireAccount(context, path)
  const notDeleted = { status: { not: 'deleted' }, ...(system ? {} : { accountId }) }
  const select = { id: true }
  const issuers = await context.db.issuer.findMany({ where: { ...notDeleted, id: { in: issuer_ids } }, select })
  const orgs = await context.db.organization.findMany({
    where: { ...notDeleted, ...whereIssuerNotDeleted, id: { in: org_ids } },
    select,
  })
  const knownIds = (rows: { id: string }[], retained: string[] = []) =>
    new Set([...rows.map(({ id }) => id), ...retained])
  const where = system ? 'of this deployment' : 'of this account'
  throwDetails([
    ...unknownIdDetails('issuer_ids', issuer_ids, {
      known: knownIds(issuers, before.issuer_ids),
      code: 'unknown_issuer',
      message: `must be the id of an issuer ${where}.`,
    }),
    ...unknownIdDetails('org_ids', org_ids, {
      known: knownIds(orgs, before.org_ids),
      code: 'unknown_organization',
      message: `must be the id of an organization ${where}.`,
    }),
  ])
}

const unknownIdDetails = (
  name: RestrictionField,
  ids: readonly string[],
  { known: knownIds, code, message }: { known: ReadonlySet<string>; code: string; message: string },
): ErrorDetail[] =>
  ids.flatMap((id, index) => (knownIds.has(id) ? [] : [{ field: `restrictions.${name}[${index}]`, code, message }]))

function throwDetails(details: ErrorDetail[]): void {
  if (details.length > 0) throw invalidFields(details)
}
