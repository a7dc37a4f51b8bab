import { ArgsType, Field, ID, ObjectType } from 'type-graphql'
import { z } from 'zod'
import { fieldSchemas } from '../../kernel/input.js'
import type { JsonObject } from '../../kernel/merge-patch.js'
import { AccountId, CreatedAt, Id, IssuerId, UpdatedAt } from '../common-properties.js'
import { createRulesOf, EventTarget, enumType, Property, pageOf, updateRulesOf } from '../declaration.js'
import { IssuerPath, JSONObject } from '../graphql-types.js'

export const AuthMethodKind = enumType('AuthMethodKind', 'How users authenticate with an authentication method.', {
  password: 'A username and a password.',
  email_link: 'A single-use link, sent by email.',
  email_otp: 'A six-digit code, sent by email.',
  passkey: 'A passkey (WebAuthn), as the only factor or as a second factor.',
  totp: 'A second factor: time-based codes of an authenticator app (RFC 6238).',
  backup_codes: 'A second factor: single-use codes for users who have lost their other second factor.',
  oidc: 'An account at a provider of OpenID Connect.',
  oauth2: 'An account at a provider of OAuth 2.0 with a userinfo endpoint, such as Discord or GitLab.',
  apple: 'An Apple account (Sign in with Apple).',
  github: 'An account at GitHub or GitHub Enterprise Server.',
})
export type AuthMethodKind = keyof typeof AuthMethodKind

@EventTarget('auth_method')
@ObjectType({ description: 'A method with which users authenticate at an issuer.' })
export class AuthMethod {
  @Id('authentication method', 'am_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @AccountId()
  readonly accountId!: string
  @IssuerId()
  readonly issuerId!: string
  @Property(() => String, {
    description: 'The name, which the sign-in page shows for a federated method.',
    example: 'Sign in with Example',
    rule: fieldSchemas.name,
    create: 'required',
    update: true,
  })
  name!: string
  @Property(() => AuthMethodKind, {
    description:
      'How users authenticate. An issuer can have several passkey, oidc, oauth2, apple and github methods, and one of each other kind.',
    example: 'oidc',
    create: 'required',
    update: z.unknown(),
    updateDescription: 'Cannot be changed. Delete the method and create another one.',
  })
  method!: AuthMethodKind
  @Property(() => Boolean, {
    description: 'Whether users can sign in with the method.',
    create: 'optional',
    default: true,
    update: true,
  })
  enabledLogin!: boolean
  @Property(() => Boolean, {
    description: 'Whether new users can sign up with the method.',
    create: 'optional',
    default: false,
    update: true,
  })
  enabledSignup!: boolean
  @Property(() => Boolean, {
    description: 'Whether the sign-in page shows the method before methods that are not featured.',
    create: 'optional',
    default: false,
    update: true,
  })
  featured!: boolean
  @Property(() => Boolean, {
    description:
      'True for oidc, oauth2, apple and github, which are never a second factor. Inputs must contain true for these methods, and must not contain the field for other methods.',
    create: 'optional',
    update: true,
    updateDescription: 'Can only be true, and only for oidc, oauth2, apple and github.',
  })
  firstFactorOnly!: boolean
  @Property(() => JSONObject, {
    description:
      'Required for oidc, oauth2, apple and github: the client and the endpoints of the provider. Responses do not contain the secret `client_secret` or `private_key`, but `client_secret_set` or `private_key_set` says whether it is set.',
    example: { issuer_url: 'https://login.example.com', client_id: 'gatehouse', client_secret_set: true },
    create: 'optional',
    update: true,
    updateDescription:
      'A JSON Merge Patch (RFC 7396) of the settings. A change of the provider requires its secret again.',
  })
  settings!: JsonObject
  @Property(() => String, {
    description:
      'The redirect URI to register with the provider, for oidc, oauth2, apple and github. Null for other methods.',
    example: 'https://id.example.com/iss_01kb3w8hxv6k8y1f4sn0q3a7pd/callback/am_01kb3w8hxv6k8y1f4sn0q3a7pd',
    nullable: true,
  })
  readonly callbackUrl!: string | null
  @Property(() => Boolean, {
    description:
      'False if a federated method cannot work with its settings. The sign-in page does not offer such a method.',
    graphqlOnly: true,
  })
  readonly ready!: boolean
  @Property(() => String, {
    description: 'Why the method is not ready, and how to fix its settings. Null if the method is ready.',
    nullable: true,
    graphqlOnly: true,
  })
  readonly notReadyReason!: string | null
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

export const AuthMethodPage = pageOf(AuthMethod)

export const createRules = createRulesOf(AuthMethod)
export const updateRules = updateRulesOf(AuthMethod)

@ArgsType()
export class AuthMethodPath extends IssuerPath {
  @Field(() => ID, { description: 'The id of the authentication method.' })
  methodId!: string
}
