/**
 * What tokens and the guard know of memberships: the active ones in living, active organizations, with what they give.
 * One prepared statement; its meaning of effective scopes is that of `effectiveScopes` (decisions D10).
 */
import type { Context } from '../../platform/context.js'
import type { Question } from '../../platform/together.js'
import { effectiveScopesSql } from '../authority.js'

/** A membership as tokens show it (decisions D23). */
export interface Membership {
  /** Of the organization. */
  id: string
  name: string | null
  /** Effective ones, in order. */
  scopes: string[]
  /** Group ids. */
  groups: string[]
}

/** SQL: this membership counts now. */
export const countsSql = `m.status = 'active' AND o.status = 'active'`

/** SQL: what has been proved is enough for an organization `o`. @param mfa SQL: two factors were proved */
export const provedSql = (mfa: string): string => `(NOT o.mfa_required OR ${mfa})`

/**
 * SQL: the memberships of a user `u` that count now, as a JSON list of `Membership`, the newest first. An organization
 * that demands two factors is none to a session `s` that was begun with one, whenever the demand was made.
 */
export const membershipsSql = `(
    SELECT coalesce(json_agg(json_build_object('id', o.id, 'name', o.name, 'scopes', ${effectiveScopesSql},
      'groups', ARRAY(SELECT gm.group_id FROM organization_group_members gm WHERE gm.member_id = m.id ORDER BY 1))
      ORDER BY m.id DESC), '[]')
    FROM organization_members m JOIN organizations o ON o.id = m.org_id JOIN issuers i ON i.id = o.issuer_id
    WHERE m.issuer_id = u.issuer_id AND m.user_id = u.id AND ${countsSql}
      AND ${provedSql(`coalesce('mfa' = ANY(s.amr), false)`)} AND i.status <> 'deleted')`

const memberships: Question = {
  name: 'memberships',
  types: ['text', 'text', 'text'],
  text: `
  SELECT o.id, o.name, ${effectiveScopesSql} AS scopes,
    ARRAY(SELECT gm.group_id FROM organization_group_members gm WHERE gm.member_id = m.id ORDER BY 1) AS groups
  FROM organization_members m JOIN organizations o ON o.id = m.org_id JOIN issuers i ON i.id = o.issuer_id
  WHERE m.issuer_id = $1 AND m.user_id = $2 AND ($3::text IS NULL OR m.org_id = $3) AND ${countsSql}
    AND i.status <> 'deleted'
  ORDER BY m.id DESC`,
}

interface Whose {
  issuerId: string
  userId: string
}

const read = (context: Context, { issuerId, userId }: Whose, orgId: string | null): Promise<Membership[]> =>
  context.tools.ask<Membership & Record<string, unknown>>(memberships, [issuerId, userId, orgId])

/** The memberships that count now, the newest first. Whether the user may act is another question. */
export const membershipsOf = (context: Context, whose: Whose): Promise<Membership[]> => read(context, whose, null)

/** The membership in one organization, if it counts now. */
export async function membershipOf(context: Context, whose: Whose, orgId: string): Promise<Membership | null> {
  const [membership] = await read(context, whose, orgId)
  return membership ?? null
}
