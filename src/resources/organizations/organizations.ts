/**
 * Organizations (spec 2.8, 4.7, section 3): groups of users of an issuer, for multi-tenancy. Their members, groups and
 * invitations stand in the files beside this one; their API keys in the room of keys.
 */
import { z } from 'zod'
import { conflict, invalidField } from '../../kernel/errors.js'
import { newRow } from '../../kernel/ids.js'
import { check, type Given, mergedMetadata, rules } from '../../kernel/input.js'
import { limitOf, type Page, type PageRequest, pageOf } from '../../kernel/page.js'
import type { Context } from '../../platform/context.js'
import { type Organization, Prisma, sql, transaction } from '../../platform/database.js'
import { emit } from '../events/events.js'
import { changesBetween } from '../events/names.js'
import { revokeKeysOf } from '../keys/transitions.js'
import {
  type InIssuer,
  type InOrganization,
  newestFirst,
  ofLivingIssuer,
  older,
  requireIssuer,
  requireOrganization,
} from '../place.js'
import { revise } from '../revise.js'
import { searchNames } from '../search.js'
import { mayGrantToAll, requireAuthorityToChange } from './authority.js'
import { insertMember } from './members.js'

export const organizationTypes = ['business', 'nonprofit', 'government'] as const
export type OrganizationType = (typeof organizationTypes)[number]
export const organizationStatuses = ['active', 'suspended', 'deleted'] as const
export type OrganizationStatus = (typeof organizationStatuses)[number]

const list = (what: string) =>
  z.array(rules.object, `must be an array of ${what}.`).max(100, 'must have at most 100 entries.')

const notAvailable = z.literal(false, 'must be false. Organization sign-in is not available yet.').optional()

const fields = {
  name: rules.name.nullable().optional(),
  description: rules.description.optional(),
  logoUrl: rules.url.optional(),
  orgType: z
    .enum(organizationTypes, `must be one of ${organizationTypes.join(', ')}.`)
    .nullable()
    .optional(),
  maxMembers: z.int('must be a whole number or null.').min(1, 'must be at least 1.').nullable().optional(),
  defaultMemberScopes: rules.scopes.optional(),
  scopes: rules.scopes.optional(),
  creatorScopes: rules.scopes.optional(),
  invitationEnabled: rules.boolean.optional(),
  invitationMessage: rules.text(2000).nullable().optional(),
  address: rules.object.nullable().optional(),
  businessDetails: rules.object.optional(),
  contact: rules.object.optional(),
  // Open objects; these keys are read by the filters of the list.
  security: z.looseObject({ mfa_required: rules.boolean.optional() }, 'must be an object.').optional(),
  sso: z.looseObject({ enabled: notAvailable, only: notAvailable }, 'must be an object.').optional(),
  customFields: rules.object.optional(),
  socialLinks: list('objects').optional(),
  status: z.enum(['active', 'suspended'], 'must be active or suspended.').optional(),
  statusReason: rules.text().nullable().optional(),
  statusBy: rules.text(200).nullable().optional(),
  metadata: rules.metadata.optional(),
}

const createRules = z.strictObject({ ...fields, createdByUserId: rules.text(64).nullable().optional() })
const updateRules = z.strictObject(fields)
type Values = Given<z.infer<typeof updateRules>>

/** What the list can be cut down to. */
export interface OrganizationFilter {
  status?: OrganizationStatus | null
  ssoEnabled?: boolean | null
  ssoOnly?: boolean | null
  mfaRequired?: boolean | null
  invitationEnabled?: boolean | null
  search?: string | null
}

/**
 * Newest first; with `search` by the beginning of a name, in the order of names. Deleted ones are gone for good, so
 * asking for them finds none.
 */
export async function listOrganizations(
  context: Context,
  place: InIssuer,
  filter: OrganizationFilter,
  request: PageRequest,
): Promise<Page<Organization>> {
  const { accountId, issuerId } = place
  const { status, ssoEnabled, ssoOnly, mfaRequired, invitationEnabled } = filter
  const limit = limitOf(request)
  const flags = Object.entries({ ssoEnabled, ssoOnly, mfaRequired, invitationEnabled }).filter(
    ([, value]) => typeof value === 'boolean',
  )
  const where = { accountId, issuerId, status, ...Object.fromEntries(flags) }
  const found = await searchNames(context, { table: 'organizations', prefix: 'org', where }, filter.search, request)
  const rows = await context.db.organization.findMany({
    where: {
      AND: [
        { accountId, issuerId, ...ofLivingIssuer },
        status ? { status } : {},
        Object.fromEntries(flags),
        found?.where ?? older('org', request.cursor),
      ],
    },
    orderBy: newestFirst,
    take: limit + 1,
  })
  if (rows.length === 0) await requireIssuer(context, place)
  return found?.pageOf(rows) ?? pageOf(rows, limit)
}

/** @throws not_found */
export const getOrganization = requireOrganization

/**
 * Makes an organization. Its creator, if it is a user of this issuer, becomes a member with `creator_scopes`
 * (decisions D10).
 * @throws invalid_request, insufficient_scope, not_found for the issuer
 */
export async function createOrganization(context: Context, place: InIssuer, input: unknown): Promise<Organization> {
  const values = check(createRules, input)
  mayGrantToAll(context, values)
  return transaction(context, async (inside) => {
    await requireIssuer(inside, place)
    const creator = await creatorOf(inside, place, values.createdByUserId)
    const organization = await insertOrganization(inside, place, values, creator?.id ?? null)
    if (creator?.isUser) await insertMember(inside, organization, creator.id, { scopes: organization.creatorScopes })
    return organization
  })
}

/** Writes an organization and its event. Asks nobody's permission: administrator organizations are made by it too. */
export async function insertOrganization(
  context: Context,
  { accountId, issuerId }: InIssuer,
  values: Values,
  createdByUserId: string | null,
): Promise<Organization> {
  const status = values.status ?? 'active'
  const organization = await context.db.organization.create({
    data: {
      ...newRow('org', context.now()),
      accountId,
      issuerId,
      ...columns(values),
      ...(values.metadata && { metadata: values.metadata as Prisma.InputJsonObject }),
      status,
      statusReason: values.statusReason ?? null,
      statusBy: values.statusBy ?? (status === 'active' ? null : context.actor.id),
      createdByUserId,
    },
  })
  await emit(context, 'organization.created', { ...aboutOrganization(organization), data: { name: organization.name } })
  return organization
}

/** Who makes it: the user named, or the one who asks; `isUser` when that is a user of this issuer. */
async function creatorOf(context: Context, { accountId, issuerId }: InIssuer, named: string | null | undefined) {
  const { actor } = context
  const id = named ?? actor.userId
  if (id === null) return null
  const user = await context.db.user.findFirst({
    where: { id, accountId, issuerId, status: { notIn: ['deleted', 'pending_deletion'] } },
    select: { id: true },
  })
  if (!user && named) throw invalidField('createdByUserId', 'unknown_user', 'must be the id of a user of this issuer.')
  return { id, isUser: user !== null }
}

/**
 * PATCH: metadata merged, other objects replaced (decisions D29). Suspending takes the memberships out of tokens and
 * stops the organization's API keys. Lifting that, or asking members for a second factor no more, asks for their authority.
 * @throws invalid_request, insufficient_scope, not_found, precondition_failed
 */
export async function updateOrganization(
  context: Context,
  place: InOrganization,
  input: unknown,
  ifMatch?: string | null,
): Promise<Organization> {
  const values = check(updateRules, input)
  const { accountId, issuerId, orgId } = place
  return revise<Organization, Prisma.OrganizationUncheckedUpdateManyInput>(context, {
    what: 'organization',
    table: 'organizations',
    ifMatch,
    read: (now) => now.db.organization.findFirst({ where: { id: orgId, accountId, issuerId, ...ofLivingIssuer } }),
    change: async (organization, inside) => {
      await requireAuthorityToChange(inside, organization, values)
      return {
        ...columns(values),
        ...statusColumns(context, organization, values),
        ...(values.metadata && {
          metadata: mergedMetadata(organization.metadata, values.metadata) as Prisma.InputJsonObject,
        }),
      }
    },
    write: async (now, version, data) =>
      (await now.db.organization.updateManyAndReturn({ where: { id: orgId, updatedAt: version }, data }))[0],
    also: (inside, before, row) =>
      emit(inside, 'organization.updated', {
        ...aboutOrganization(row),
        changes: changesBetween('organization', before, row),
      }),
  })
}

/**
 * Permanent, without a grace period, in the order of spec section 3: the API keys are revoked, and if that fails
 * nothing happens; then members and groups go. Users stay.
 * @throws not_found, precondition_failed, conflict for the administrator organization of an account
 */
export async function deleteOrganization(
  context: Context,
  place: InOrganization,
  ifMatch?: string | null,
): Promise<void> {
  const { orgId } = place
  await revise<Organization, object>(context, {
    what: 'organization',
    table: 'organizations',
    ifMatch,
    read: (now) => now.db.organization.findFirst({ where: { id: orgId, ...within(place) } }),
    change: async (_, now) => {
      const account = await now.db.account.findUnique({ where: { adminOrgId: orgId }, select: { id: true } })
      if (account) throw conflict('This is the administrator organization of an account and lives as long as that.')
      return {}
    },
    write: async (now, version) => {
      const { db } = now
      const [locked] = await sql(
        db,
        'SELECT id FROM organizations WHERE id = $1 AND updated_at = $2 FOR UPDATE',
        orgId,
        version,
      )
      if (!locked) return null
      const keys = await revokeKeysOf(now, place)
      const members = await db.organizationMember.deleteMany({ where: { orgId } })
      await db.organizationGroup.deleteMany({ where: { orgId } })
      await db.organizationInvitation.deleteMany({ where: { orgId } })
      const row = await db.organization.delete({ where: { id: orgId } })
      const data = { name: row.name, members: members.count, api_keys: keys }
      await emit(now, 'organization.deleted', { ...aboutOrganization(row), data })
      return row
    },
  })
}

const within = ({ accountId, issuerId }: InIssuer) => ({ accountId, issuerId, ...ofLivingIssuer })

/** The given fields as columns, all but status and metadata. */
function columns(values: Values) {
  const { status, statusReason, statusBy, metadata, address, security, sso, socialLinks, ...rest } = values
  const {
    businessDetails,
    contact,
    customFields,
    createdByUserId: _,
    ...plain
  } = rest as typeof rest & {
    createdByUserId?: unknown
  }
  const json = { businessDetails, contact, customFields, security, sso, socialLinks }
  const given = Object.entries(json).filter(([, value]) => value !== undefined)
  return {
    ...plain,
    ...(Object.fromEntries(given) as Record<string, Prisma.InputJsonObject>),
    ...(address !== undefined && { address: address === null ? Prisma.DbNull : (address as Prisma.InputJsonObject) }),
    ...(sso && { ssoEnabled: sso.enabled ?? false, ssoOnly: sso.only ?? false }),
    ...(security && { mfaRequired: security.mfa_required ?? false }),
  }
}

/** Reason and author belong to the last change of the status; a change without them takes the caller. */
function statusColumns(context: Context, before: Organization, { status, statusReason, statusBy }: Values) {
  const changed = status !== undefined && status !== before.status
  return {
    ...(changed && { status, statusReason: statusReason ?? null, statusBy: statusBy ?? context.actor.id }),
    ...(!changed && statusReason !== undefined && { statusReason }),
    ...(!changed && statusBy !== undefined && { statusBy }),
  }
}

export const aboutOrganization = ({ accountId, issuerId, id }: Organization) => ({
  accountId,
  issuerId,
  orgId: id,
  target: { type: 'organization', id },
})
