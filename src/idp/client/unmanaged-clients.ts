/**
 * Clients that no administrator of the issuer has created: clients with a metadata document
 * (docs/contract.md#client-id-metadata-documents) and dynamically registered clients
 * (docs/contract.md#dynamic-client-registration). Anyone can choose their name and redirect URIs, so users must consent.
 */
import { isLoopback } from '../../kernel/uri.js'
import {
  metadataDocumentRestriction,
  type OrganizationRestriction,
  organizationRestrictionOf,
} from '../../resources/clients/organization-restriction.js'
import { dynamicRegistrationPolicyOf, metadataDocumentPolicyOf } from '../../resources/issuers/settings.js'
import type { RequestContext } from '../request-context.js'
import type { ClientRow } from './client.js'
import { metadataDocumentAllowances } from './metadata-documents/index.js'

/** Returns whether users must consent to the access of the client. */
export const isUnmanaged = ({ document, isDynamic }: ClientRow): boolean => document !== undefined || isDynamic === true

/**
 * Returns the resources and scopes that a client may request, in addition to its id and `allowed_audiences` and to the
 * scopes of OpenID Connect: by the settings of the issuer for a client with a metadata document, and by its own settings
 * for other clients. A dynamically registered client may also request the resources that the issuer allows such clients,
 * and of its scopes only those that the issuer allows now.
 */
export function allowancesOf(
  { runtime }: RequestContext,
  { document, isDynamic, settings }: ClientRow,
): { resources: readonly string[]; scopes: readonly string[] } {
  if (document) return metadataDocumentAllowances(runtime.issuer.settings)
  const resources = settings.openid?.allowed_resources ?? []
  const scopes = settings.scopes ?? []
  if (!isDynamic) return { resources, scopes }
  const { allowedResources, allowedScopes } = dynamicRegistrationPolicyOf(runtime.issuer.settings)
  return {
    resources: [...resources, ...allowedResources],
    scopes: scopes.filter((name) => allowedScopes.includes(name)),
  }
}

/**
 * Returns the target of a redirect URI, to which a user consents: its host, without the port for a loopback host, or the
 * scheme of a URI with a private-use scheme.
 */
export function redirectTarget(redirectUri: string): string {
  const { host, hostname, protocol } = new URL(redirectUri)
  if (protocol !== 'http:' && protocol !== 'https:') return protocol
  return isLoopback(hostname) ? hostname : host
}

/**
 * Returns what a consent page shows about a client: the host of its metadata document, or the target of the redirect URI
 * of the request for a dynamically registered client; and its name, which is not verified. The target receives the code,
 * but may belong to another party than the client.
 */
export function consentIdentity(
  { document, name }: ClientRow,
  redirectUri: string,
): { host: string; name: string | null } {
  if (document) return document
  return { host: redirectTarget(redirectUri), name }
}

/**
 * Returns which organizations of a user a client may see: by the settings of the client, or by those of the issuer for
 * a client with a metadata document (docs/contract.md#organization-restrictions-of-clients).
 */
export function restrictionOfClient(
  { runtime }: RequestContext,
  { document, settings }: ClientRow,
): OrganizationRestriction {
  if (!document) return organizationRestrictionOf(settings)
  return metadataDocumentRestriction(metadataDocumentPolicyOf(runtime.issuer.settings)?.organization_policy)
}
