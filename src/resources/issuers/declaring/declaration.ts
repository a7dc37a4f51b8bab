/**
 * Issuer documents for version control (docs/commands.md, `issuer export` and `issuer apply`): the settings,
 * authentication methods and clients of an issuer with the field names of the REST API. Exported documents contain no
 * secrets.
 */
import { z } from 'zod'
import type { Context } from '../../../platform/context.js'
import type { AuthMethod, Client, Issuer } from '../../../platform/postgres/database.js'
import { listClients } from '../../clients/clients.js'
import { type InIssuer, requireIssuer } from '../../resource-path.js'
import { listAuthMethods } from '../auth-methods.js'

export const FORMAT = 'issuer/v1'

const entryRule = z.record(z.string(), z.unknown(), 'must be a mapping.')

/** Rules of the structure of a document. The API operations that apply the document validate the entries. */
export const declarationRules = z.strictObject({
  gatehouse: z.literal(FORMAT, `must be ${FORMAT}.`),
  issuer: entryRule,
  auth_methods: z.array(entryRule, 'must be a list.').optional(),
  clients: z.array(entryRule, 'must be a list.').optional(),
})
export type Declaration = z.infer<typeof declarationRules>

/** An entry of a document, with the field names of the REST API. */
export type DeclarationEntry = Record<string, unknown>

/** The current state of an issuer, with which a document is compared. */
export interface IssuerState {
  issuer: Issuer
  methods: AuthMethod[]
  clients: Client[]
}

/**
 * Reads an issuer with its authentication methods and its clients, except deleted ones, oldest first.
 * @throws not_found
 */
export async function readIssuerState(context: Context, path: InIssuer): Promise<IssuerState> {
  const issuer = await requireIssuer(context, path)
  const methods = await readAllPages((cursor) => listAuthMethods(context, path, { limit: 100, cursor }))
  const clients = await readAllPages((cursor) => listClients(context, path, { limit: 100, cursor }))
  return { issuer, methods: methods.reverse(), clients: clients.reverse() }
}

async function readAllPages<Row extends { id: string }>(
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

/** Returns an issuer as the entry `issuer` of a document. */
export const issuerEntry = ({
  id,
  name,
  description,
  links,
  availableScopes,
  status,
  settings,
  metadata,
}: Issuer): DeclarationEntry => ({
  id,
  name,
  description,
  links,
  available_scopes: availableScopes,
  status,
  settings,
  metadata,
})

/** Returns an authentication method as an entry of `auth_methods`. */
export const methodEntry = (row: AuthMethod): DeclarationEntry => ({
  id: row.id,
  name: row.name,
  method: row.method,
  enabled_login: row.enabledLogin,
  enabled_signup: row.enabledSignup,
  featured: row.featured,
  ...(row.firstFactorOnly && { first_factor_only: true }),
  settings: row.settings,
})

/** Returns a client as an entry of `clients`. */
export const clientEntry = (row: Client): DeclarationEntry => ({
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
 * Creates the document of an issuer. Fields of entries that are null, an empty list or an empty object are omitted.
 * @param portable whether to omit ids, so that the document can be applied to another issuer
 */
export function createDeclaration({ issuer, methods, clients }: IssuerState, portable: boolean): Declaration {
  const withoutEmptyValues = (entry: DeclarationEntry): DeclarationEntry =>
    Object.fromEntries(
      Object.entries(entry).filter(([key, value]) => !isEmptyValue(value) && !(portable && key === 'id')),
    )
  return {
    gatehouse: FORMAT,
    issuer: withoutEmptyValues(issuerEntry(issuer)),
    auth_methods: methods.map((row) => withoutEmptyValues(methodEntry(row))),
    clients: clients.map((row) => withoutEmptyValues(clientEntry(row))),
  }
}

const isEmptyValue = (value: unknown): boolean =>
  value === null ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
