/**
 * An issuer as a document that people keep in a repository (docs/commands.md, `issuer export` and `issuer apply`): its
 * settings, authentication methods and clients, under the names of the REST contract. It never holds a secret.
 */
import { z } from 'zod'
import type { Context } from '../../../platform/context.js'
import type { AuthMethod, Client, Issuer } from '../../../platform/database.js'
import { listClients } from '../../clients/clients.js'
import { type InIssuer, requireIssuer } from '../../place.js'
import { listAuthMethods } from '../auth-methods.js'

export const FORMAT = 'issuer/v1'

const entry = z.record(z.string(), z.unknown(), 'must be a mapping.')

/** The outermost shape only: what stands inside, the operations check. */
export const declarationRules = z.strictObject({
  gatehouse: z.literal(FORMAT, `must be ${FORMAT}.`),
  issuer: entry,
  auth_methods: z.array(entry, 'must be a list.').optional(),
  clients: z.array(entry, 'must be a list.').optional(),
})
export type Declaration = z.infer<typeof declarationRules>

/** Values under their REST names. */
export type Entry = Record<string, unknown>

/** What there is of an issuer now. */
export interface Present {
  issuer: Issuer
  methods: AuthMethod[]
  clients: Client[]
}

/** Reads the issuer with all of its methods and clients, the oldest first. @throws not_found */
export async function presentOf(context: Context, place: InIssuer): Promise<Present> {
  const issuer = await requireIssuer(context, place)
  const methods = await all((cursor) => listAuthMethods(context, place, { limit: 100, cursor }))
  const clients = await all((cursor) => listClients(context, place, {}, { limit: 100, cursor }))
  return { issuer, methods: methods.reverse(), clients: clients.reverse() }
}

async function all<Row extends { id: string }>(
  page: (cursor: string | null) => Promise<{ data: Row[]; nextCursor: string | null }>,
): Promise<Row[]> {
  const rows: Row[] = []
  for (let cursor: string | null = null; ; ) {
    const { data, nextCursor } = await page(cursor)
    rows.push(...data)
    if (nextCursor === null) return rows
    cursor = nextCursor
  }
}

export const issuerEntry = ({
  id,
  name,
  description,
  links,
  availableScopes,
  status,
  settings,
  metadata,
}: Issuer): Entry => ({
  id,
  name,
  description,
  links,
  available_scopes: availableScopes,
  status,
  settings,
  metadata,
})

export const methodEntry = (row: AuthMethod): Entry => ({
  id: row.id,
  name: row.name,
  method: row.method,
  enabled_login: row.enabledLogin,
  enabled_signup: row.enabledSignup,
  featured: row.featured,
  ...(row.firstFactorOnly && { first_factor_only: true }),
  settings: row.settings,
})

export const clientEntry = (row: Client): Entry => ({
  id: row.id,
  name: row.name,
  type: row.type,
  confidential: row.confidential,
  description: row.description,
  logo_url: row.logoUrl,
  status: row.status,
  settings: row.settings,
  metadata: row.metadata,
})

/**
 * The document of an issuer.
 * @param portable without ids, to be applied to another issuer
 */
export function declarationOf({ issuer, methods, clients }: Present, portable: boolean): Declaration {
  const shown = (entry: Entry): Entry =>
    Object.fromEntries(Object.entries(entry).filter(([key, value]) => !isNothing(value) && !(portable && key === 'id')))
  return {
    gatehouse: FORMAT,
    issuer: shown(issuerEntry(issuer)),
    auth_methods: methods.map((row) => shown(methodEntry(row))),
    clients: clients.map((row) => shown(clientEntry(row))),
  }
}

/** What a reader learns nothing from. */
const isNothing = (value: unknown): boolean =>
  value === null ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
