import { ArgsType, Field, ID, ObjectType } from 'type-graphql'
import { fieldSchemas } from '../../kernel/input.js'
import { AccountId, CreatedAt, Description, Id, IssuerId, Metadata, UpdatedAt } from '../common-properties.js'
import { createRulesOf, EventTarget, enumType, Property, pageOf, updateRulesOf } from '../declaration.js'
import { IssuerPath, JSONObject, SearchablePageArgs } from '../graphql-types.js'

export const ClientStatus = enumType('ClientStatus', 'Whether a client can be used.', {
  active: 'The client can be used.',
  disabled: 'New requests of the client fail, and the access tokens of its users are invalid.',
  deleted: 'New requests of the client fail. Lists show deleted clients only if they are filtered by this status.',
})
export type ClientStatus = keyof typeof ClientStatus

export const ClientType = enumType('ClientType', 'A label of a client, which has no effect.', {
  internal: 'An application of your own organization.',
  external: 'An application of someone else.',
})

@EventTarget('client')
@ObjectType({ description: 'An OAuth 2.0 or OpenID Connect application of an issuer.' })
export class Client {
  @Id('client', 'cli_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @AccountId()
  readonly accountId!: string
  @IssuerId()
  readonly issuerId!: string
  @Property(() => String, {
    description: 'The name, which the hosted pages show to users.',
    example: 'Web shop',
    rule: fieldSchemas.name,
    create: 'required',
    update: true,
  })
  name!: string
  @Property(() => ClientType, { description: 'A label, which has no effect.', create: 'required' })
  type!: keyof typeof ClientType
  @Property(() => Boolean, {
    description:
      'Whether the client authenticates, with a secret or a private key. A public client, such as a single-page application, does not.',
    create: 'required',
  })
  confidential!: boolean
  @Property(() => JSONObject, {
    description: 'Redirect URIs, grant types, token lifetimes, platform scopes and restrictions.',
    example: { openid: { redirect_uris: ['https://shop.example.com/callback'] } },
    create: 'required',
    update: true,
    updateDescription: 'A JSON Merge Patch (RFC 7396) of the settings.',
  })
  settings!: object
  @Description()
  description!: string | null
  @Property(() => String, {
    description: 'The address of a logo, which the hosted pages show to users.',
    example: 'https://shop.example.com/logo.png',
    nullable: true,
    rule: fieldSchemas.url,
    create: 'optional',
    update: true,
  })
  logoUrl!: string | null
  @Property(() => ClientStatus, {
    description: 'Whether the client can be used.',
    rule: fieldSchemas.oneOf(['active', 'disabled']),
    update: true,
  })
  status!: ClientStatus
  @Metadata('replace')
  metadata!: object
  @Property(() => String, {
    description:
      'The client secret. Only the response to the creation or rotation of the secret contains it. For a new confidential client it can be given as 32 to 256 printable ASCII characters without spaces; by default, it is generated. A client that authenticates with `private_key_jwt` has no secret.',
    nullable: true,
    once: true,
    rule: fieldSchemas.secret,
    create: 'optional',
  })
  secret!: string | null
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

export const ClientPage = pageOf(Client)

export const createRules = createRulesOf(Client)
export const updateRules = updateRulesOf(Client)

@ArgsType()
export class ClientPath extends IssuerPath {
  @Field(() => ID, { description: 'The id of the client.' })
  clientId!: string
}

@ArgsType()
export class ClientFilter extends SearchablePageArgs {
  @Field(() => ClientStatus, {
    nullable: true,
    description: 'Lists only clients with this status. Without it, all clients except deleted ones are listed.',
  })
  status?: ClientStatus | null
  @Field(() => String, {
    nullable: true,
    description: 'A substring of the name, ignoring case. For issuers with many clients, search is faster.',
  })
  name?: string | null
}
