/**
 * Organizations (docs/contract.md#organizations): groups of users of an issuer, for multi-tenancy. The other files of
 * this folder implement members, groups and invitations of organizations; resources/keys implements the API keys of
 * organizations.
 */
import { conflict, invalidField } from '../../kernel/errors.js'
import { newRow } from '../../kernel/ids.js'
import { checkInput, checkMergedMetadata } from '../../kernel/input.js'
import { checkPageLimit, type Page, toPage } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import { type Organization, Prisma, sql } from '../../platform/postgres/database.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { changesBetween } from '../events/event-fields.js'
import { recordEvent } from '../events/record-event.js'
import { revokeKeysOfOrganization } from '../keys/transitions.js'
import { updateWithOptimisticLock } from '../optimistic-lock.js'
import {
  deletedUserStatuses,
  type InIssuer,
  type InOrganization,
  newestFirst,
  requireIssuer,
  requireOrganization,
  whereIssuerNotDeleted,
  whereOlderThanCursor,
} from '../resource-path.js'
import { searchNames } from '../search.js'
import { requireAuthorityToChange, requireGrantableScopeLists } from './authority.js'
import { insertMember } from './members.js'
import { createRules, type OrganizationFilter, type OrganizationValues, updateRules } from './organization.js'

/**
 * Lists organizations, newest first. With `search`, lists those whose name begins with the text, or the one with this
 * id, sorted by name. The row of an organization is removed when the organization is deleted, so `status: deleted`
 * finds none.
 */
export async function listOrganizations(
  context: Context,
  path: InIssuer,
  filter: OrganizationFilter,
): Promise<Page<Organization>> {
  const { accountId, issuerId } = path
  const { status, ssoEnabled, ssoOnly, mfaRequired, invitationEnabled } = filter
  const limit = checkPageLimit(filter)
  const flags = Object.entries({ ssoEnabled, ssoOnly, mfaRequired, invitationEnabled }).filter(
    ([, value]) => typeof value === 'boolean',
  )
  const where = { accountId, issuerId, status, ...Object.fromEntries(flags) }
  const found = await searchNames(context, { table: 'organizations', prefix: 'org', where }, filter.search, filter)
  const rows = await context.db.organization.findMany({
    where: {
      AND: [
        { accountId, issuerId, ...whereIssuerNotDeleted },
        status ? { status } : {},
        Object.fromEntries(flags),
        found?.where ?? whereOlderThanCursor('org', filter.cursor),
      ],
    },
    orderBy: newestFirst,
    take: limit + 1,
  })
  if (rows.length === 0) await requireIssuer(context, path)
  return found?.pageOf(rows) ?? toPage(rows, limit)
}

/** @throws not_found */
export const getOrganization = requireOrganization

/**
 * Creates an organization. If the creator is a user of this issuer, the user becomes a member with `creator_scopes`
 * (docs/contract.md#groups).
 * @throws invalid_request, insufficient_scope for scopes that the caller lacks, not_found for the issuer
 */
export async function createOrganization(context: Context, path: InIssuer, input: unknown): Promise<Organization> {
  const values = checkInput(createRules, input)
  requireGrantableScopeLists(context, values)
  return transaction(context, async (tx) => {
    await requireIssuer(tx, path)
    const creator = await resolveCreator(tx, path, values.createdByUserId)
    const organization = await insertOrganization(tx, path, values, creator?.id ?? null)
    if (creator?.isUser) await insertMember(tx, organization, creator.id, { scopes: organization.creatorScopes })
    return organization
  })
}

/**
 * Creates an organization and its event without permission checks. Administrator organizations are created this way.
 */
export async function insertOrganization(
  context: Context,
  { accountId, issuerId }: InIssuer,
  values: OrganizationValues,
  createdByUserId: string | null,
): Promise<Organization> {
  const status = values.status ?? 'active'
  const organization = await context.db.organization.create({
    data: {
      ...newRow('org', context.now()),
      accountId,
      issuerId,
      ...organizationColumns(values),
      ...(values.metadata && { metadata: values.metadata as Prisma.InputJsonObject }),
      status,
      statusReason: values.statusReason ?? null,
      statusBy: values.statusBy ?? (status === 'active' ? null : context.actor.id),
      createdByUserId,
    },
  })
  await recordEvent(context, 'organization.created', {
    ...organizationEventSubject(organization),
    data: { name: organization.name },
  })
  return organization
}

/**
 * Returns the creator: the user `createdByUserId`, otherwise the caller; null if the caller is not a user. `isUser` is
 * true if the creator is a user of this issuer.
 * @throws invalid_request if `createdByUserId` is not the id of a user of this issuer
 */
async function resolveCreator(
  context: Context,
  { accountId, issuerId }: InIssuer,
  createdByUserId: string | null | undefined,
) {
  const { actor } = context
  const id = createdByUserId ?? actor.userId
  if (id === null) return null
  const user = await context.db.user.findFirst({
    where: { id, accountId, issuerId, status: { notIn: deletedUserStatuses } },
    select: { id: true },
  })
  if (!user && createdByUserId)
    throw invalidField('createdByUserId', 'unknown_user', 'must be the id of a user of this issuer.')
  return { id, isUser: user !== null }
}

/**
 * Updates an organization. `metadata` is merged, other objects are replaced (docs/contract.md#request-bodies). While an
 * organization is suspended, new tokens do not contain its memberships, and its API keys cannot authenticate.
 * `requireAuthorityToChange` checks the scopes of the caller.
 * @throws invalid_request, insufficient_scope, not_found, precondition_failed
 */
export async function updateOrganization(
  context: Context,
  path: InOrganization,
  input: unknown,
  ifMatch?: string | null,
): Promise<Organization> {
  const values = checkInput(updateRules, input)
  const { accountId, issuerId, orgId } = path
  return updateWithOptimisticLock<Organization, Prisma.OrganizationUncheckedUpdateManyInput>(context, {
    resourceName: 'organization',
    table: 'organizations',
    ifMatch,
    read: (tx) => tx.db.organization.findFirst({ where: { id: orgId, accountId, issuerId, ...whereIssuerNotDeleted } }),
    computeChanges: async (organization, tx) => {
      await requireAuthorityToChange(tx, organization, values)
      return {
        ...organizationColumns(values),
        ...statusColumns(context, organization, values),
        ...(values.metadata && {
          metadata: checkMergedMetadata(organization.metadata, values.metadata) as Prisma.InputJsonObject,
        }),
      }
    },
    write: async (tx, version, data) =>
      (await tx.db.organization.updateManyAndReturn({ where: { id: orgId, updatedAt: version }, data }))[0],
    afterWrite: (tx, before, row) =>
      recordEvent(tx, 'organization.updated', {
        ...organizationEventSubject(row),
        changes: changesBetween('organization', before, row),
      }),
  })
}

/**
 * Deletes an organization permanently, without a grace period (docs/contract.md#states-and-transitions): revokes its
 * API keys, then deletes its members, groups and invitations. One transaction does all of this, so that nothing is
 * deleted if a key cannot be revoked. Users stay.
 * @throws not_found, precondition_failed, conflict for the administrator organization of an account
 */
export async function deleteOrganization(
  context: Context,
  path: InOrganization,
  ifMatch?: string | null,
): Promise<void> {
  const { orgId } = path
  await updateWithOptimisticLock<Organization, object>(context, {
    resourceName: 'organization',
    table: 'organizations',
    ifMatch,
    read: (tx) => tx.db.organization.findFirst({ where: { id: orgId, ...issuerFilter(path) } }),
    computeChanges: async (_, tx) => {
      const account = await tx.db.account.findUnique({ where: { adminOrgId: orgId }, select: { id: true } })
      if (account) throw conflict('This is the administrator organization of an account. It cannot be deleted.')
      return {}
    },
    writesMore: () => true,
    write: async (tx, version) => {
      const { db } = tx
      const [locked] = await sql(
        db,
        'SELECT id FROM organizations WHERE id = $1 AND updated_at = $2 FOR UPDATE',
        orgId,
        version,
      )
      if (!locked) return null
      const keys = await revokeKeysOfOrganization(tx, path)
      const members = await db.organizationMember.deleteMany({ where: { orgId } })
      await db.organizationGroup.deleteMany({ where: { orgId } })
      await db.organizationInvitation.deleteMany({ where: { orgId } })
      const row = await db.organization.delete({ where: { id: orgId } })
      const data = { name: row.name, members: members.count, api_keys: keys }
      await recordEvent(tx, 'organization.deleted', { ...organizationEventSubject(row), data })
      return row
    },
  })
}

const issuerFilter = ({ accountId, issuerId }: InIssuer) => ({ accountId, issuerId, ...whereIssuerNotDeleted })

type JsonColumn = 'businessDetails' | 'contact' | 'security' | 'sso' | 'customFields' | 'socialLinks'

/** Returns the columns for the given fields, except the columns of metadata, the status and the creator. */
function organizationColumns(values: OrganizationValues) {
  const { status, statusReason, statusBy, createdByUserId, metadata, address, ...columns } = values
  const { sso, security } = columns
  return {
    ...(columns as typeof columns & Record<JsonColumn, Prisma.InputJsonObject>),
    ...(address !== undefined && { address: address === null ? Prisma.DbNull : (address as Prisma.InputJsonObject) }),
    ...(sso && { ssoEnabled: sso.enabled ?? false, ssoOnly: sso.only ?? false }),
    ...(security && { mfaRequired: security.mfa_required ?? false }),
  }
}

/**
 * Returns the columns of the status. `status_reason` and `status_by` describe the latest change of `status`. A change
 * of `status` without `status_by` sets `status_by` to the caller, and without `status_reason` clears `status_reason`.
 * Without a change of `status`, the given values are stored.
 */
function statusColumns(context: Context, before: Organization, { status, statusReason, statusBy }: OrganizationValues) {
  const changed = status !== undefined && status !== before.status
  return {
    ...(changed && { status, statusReason: statusReason ?? null, statusBy: statusBy ?? context.actor.id }),
    ...(!changed && statusReason !== undefined && { statusReason }),
    ...(!changed && statusBy !== undefined && { statusBy }),
  }
}

export const organizationEventSubject = ({ accountId, issuerId, id }: Organization) => ({
  accountId,
  issuerId,
  orgId: id,
  target: { type: 'organization', id },
})
