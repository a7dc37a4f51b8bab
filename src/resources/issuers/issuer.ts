import { ObjectType } from 'type-graphql'
import { fieldSchemas } from '../../kernel/input.js'
import type { JsonObject } from '../../kernel/merge-patch.js'
import { AccountId, CreatedAt, Description, Id, Metadata, UpdatedAt } from '../common-properties.js'
import { createRulesOf, EventTarget, enumType, Property, pageOf, updateRulesOf } from '../declaration.js'
import { JSONObject } from '../graphql-types.js'

export const IssuerStatus = enumType('IssuerStatus', 'Whether users can sign in at an issuer.', {
  active: 'Users can sign in.',
  disabled: 'The issuer does not sign users in and does not issue tokens, and issued access tokens are invalid.',
  suspended: 'Like `disabled`. Only operators of this deployment can set and end this status.',
  deleted: 'The issuer is deleted: no list shows it, and its endpoints return 404.',
})
export type IssuerStatus = keyof typeof IssuerStatus

@EventTarget('issuer')
@ObjectType({ description: 'An identity provider with its own users, clients, signing keys and sign-in policies.' })
export class Issuer {
  @Id('issuer', 'iss_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @AccountId()
  readonly accountId!: string
  @Property(() => String, {
    description: 'The name, which the hosted pages show to users unless `settings.branding.display_name` is set.',
    example: 'Customers',
    rule: fieldSchemas.name,
    create: 'required',
    update: true,
  })
  name!: string
  @Description('A description for administrators, in Markdown.')
  description!: string | null
  @Property(() => JSONObject, {
    description: 'Links for administrators, such as a runbook. Gatehouse does not interpret them.',
    example: { runbook: 'https://wiki.example.com/sign-in' },
    rule: fieldSchemas.object,
    create: 'optional',
    default: {},
    update: true,
    updateDescription: 'Replaces the current links.',
  })
  links!: JsonObject
  @Property(() => [String], {
    description:
      'Custom scopes of your applications. They are for reference only: the scopes of a client are in its settings.',
    example: ['orders:read', 'orders:write'],
    rule: fieldSchemas.scopes,
    create: 'optional',
    default: [],
    update: true,
  })
  availableScopes!: string[]
  @Property(() => IssuerStatus, {
    description: 'Whether users can sign in.',
    create: 'optional',
    default: IssuerStatus.active,
    update: true,
    updateDescription: 'active or disabled. Only operators of this deployment can set or end the status suspended.',
  })
  status!: IssuerStatus
  @Property(() => JSONObject, {
    description: 'Settings for sign-up, sessions, security and branding. Keys that Gatehouse does not know are kept.',
    example: { signup: { mode: 'invite_only' }, security: { mfa_required: true } },
    create: 'optional',
    default: {},
    update: true,
    updateDescription: 'A JSON Merge Patch (RFC 7396) of the settings.',
  })
  settings!: JsonObject
  @Metadata('replace')
  metadata!: JsonObject
  @Property(() => String, {
    description:
      'The issuer identifier at the host of IDP_URL: the `iss` claim of tokens that are not issued at a custom domain.',
    example: 'https://id.example.com/iss_01kb3w8hxv6k8y1f4sn0q3a7pd',
  })
  readonly url!: string
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

export const IssuerPage = pageOf(Issuer)

export const createRules = createRulesOf(Issuer)
export const updateRules = updateRulesOf(Issuer)
