/**
 * Settings of a client that only describe it, from the client metadata of RFC 7591. Gatehouse stores and returns them;
 * they have no other effect.
 */
import { z } from 'zod'
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'

const text = fieldSchemas.text(limits.maxNameLength).nullable().optional()

/** Rules of these settings in `settings.openid`. */
export const registeredMetadataRules = {
  client_uri: fieldSchemas.url.optional(),
  policy_uri: fieldSchemas.url.optional(),
  tos_uri: fieldSchemas.url.optional(),
  contacts: z
    .array(fieldSchemas.text(limits.maxNameLength), 'must be an array of strings.')
    .max(limits.maxClientContacts, `must have at most ${limits.maxClientContacts} entries.`)
    .optional(),
  software_id: text,
  software_version: text,
}
