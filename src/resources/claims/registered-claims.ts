/**
 * Claim names that a custom claim may not have (docs/contract.md#custom-claims): names of the IANA registry "JSON Web
 * Token Claims" for JWT, OAuth 2.0 and OpenID Connect, and the other claims that Gatehouse issues.
 */

/** RFC 7519 section 4.1. */
const jwtClaims = ['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti']

/** OpenID Connect: Core 1.0 sections 2 and 5.6, Session and Logout, Federation, Self-Issued, Identity Assurance. */
const openidClaims = [
  'acr',
  'amr',
  'at_hash',
  'auth_time',
  'azp',
  'c_hash',
  's_hash',
  'nonce',
  'sid',
  'sub_jwk',
  'events',
  'verified_claims',
  'place_of_birth',
  'nationalities',
  'birth_family_name',
  'birth_given_name',
  'birth_middle_name',
  'salutation',
  'title',
  'msisdn',
  'also_known_as',
]

/** Standard claims (OpenID Connect Core 1.0 section 5.1) that the scopes `profile`, `email`, `phone` and `address` return. */
const scopeClaims = [
  'name',
  'given_name',
  'family_name',
  'picture',
  'locale',
  'email',
  'email_verified',
  'phone_number',
  'phone_number_verified',
  'address',
]

/** OAuth 2.0: RFC 7800, 8417, 8485, 8693, 9068, 9101, 9396, 9449, 9493, 9701 and related registrations. */
const oauthClaims = [
  'act',
  'active',
  'ath',
  'atc',
  'attest',
  'authorization_details',
  'client_id',
  'cnf',
  'cnonce',
  'dpop_jkt',
  'exi',
  'htm',
  'htu',
  'may_act',
  'scope',
  'sub_id',
  'toe',
  'token_introspection',
  'token_type',
  'txn',
  'vot',
  'vtm',
]

/** Memberships (docs/contract.md#memberships-in-tokens). */
const gatehouseClaims = ['organizations', 'org_id']

/** Names that are unsafe as keys of JavaScript objects at relying parties. */
const unsafeNames = ['constructor', 'prototype']

/**
 * Names that no custom claim may have. `groups`, `roles` and `entitlements` (RFC 9068 section 2.2.3.1) are not in the
 * set, because their registered meaning is the one that `groups` and `scopes` have as sources.
 */
export const reservedClaimNames: ReadonlySet<string> = new Set([
  ...jwtClaims,
  ...openidClaims,
  ...scopeClaims,
  ...oauthClaims,
  ...gatehouseClaims,
  ...unsafeNames,
])

/**
 * Standard claims (OpenID Connect Core 1.0 section 5.1) that no scope returns. Their only source is the field of the
 * profile with the same name, so that they keep their registered meaning.
 */
export const profileOnlyClaimNames: ReadonlySet<string> = new Set([
  'middle_name',
  'nickname',
  'preferred_username',
  'profile',
  'website',
  'gender',
  'birthdate',
  'zoneinfo',
  'updated_at',
])
