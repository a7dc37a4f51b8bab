/** The issuers and organizations that the restrictions of an API key name (decisions D8): they must be in its reach. */
import { type Detail, invalid } from '../../kernel/errors.js'
import type { Context } from '../../platform/context.js'
import { ofLivingIssuer, requireAccount } from '../place.js'
import { type KeyOwner, ownerOf } from './owner.js'
import type { Restrictions } from './restrictions.js'

type Named = 'issuer_ids' | 'org_ids'

/**
 * Restrictions narrow, so a key of an organization names that organization and its issuer alone, and a key of an account
 * what lives in the account; what is deleted lives no more. Keys of the system account reach every account.
 * @param before the restrictions in force: what they name already may stay
 * @throws invalid_request with one detail per id
 */
export async function checkPlaces(
  context: Context,
  place: KeyOwner,
  { issuer_ids = [], org_ids = [] }: Restrictions,
  before: Restrictions = {},
): Promise<void> {
  const owner = ownerOf(place)
  if (owner) {
    const only = (own: string) => ({ known: new Set([own]), code: 'out_of_reach', message: `must be ${own}.` })
    return refuse([
      ...strange('issuer_ids', issuer_ids, only(owner.issuerId)),
      ...strange('org_ids', org_ids, only(owner.orgId)),
    ])
  }
  if (issuer_ids.length + org_ids.length === 0) return
  const { id: accountId, system } = await requireAccount(context, place)
  const living = { status: { not: 'deleted' }, ...(system ? {} : { accountId }) }
  const select = { id: true }
  const issuers = await context.db.issuer.findMany({ where: { ...living, id: { in: issuer_ids } }, select })
  const orgs = await context.db.organization.findMany({
    where: { ...living, ...ofLivingIssuer, id: { in: org_ids } },
    select,
  })
  const known = (rows: { id: string }[], old: string[] = []) => new Set([...rows.map(({ id }) => id), ...old])
  const where = system ? 'of this deployment' : 'of this account'
  refuse([
    ...strange('issuer_ids', issuer_ids, {
      known: known(issuers, before.issuer_ids),
      code: 'unknown_issuer',
      message: `must be the id of an issuer ${where}.`,
    }),
    ...strange('org_ids', org_ids, {
      known: known(orgs, before.org_ids),
      code: 'unknown_organization',
      message: `must be the id of an organization ${where}.`,
    }),
  ])
}

const strange = (
  name: Named,
  ids: readonly string[],
  { known, code, message }: { known: ReadonlySet<string>; code: string; message: string },
): Detail[] =>
  ids.flatMap((id, index) => (known.has(id) ? [] : [{ field: `restrictions.${name}[${index}]`, code, message }]))

function refuse(details: Detail[]): void {
  if (details.length > 0) throw invalid(details)
}
