import { Args, ArgsType, Ctx, Field, ID, ObjectType, Resolver } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import { ClientPath } from '../clients/client.js'
import { AdditionalScopes, IssuerLevelScope, JSONObject, NullableQuery } from '../graphql-types.js'
import { previewToken } from './token-preview.js'

@ObjectType({
  description: 'A claim or a requested scope that the tokens of a preview do not have, or that the caller may not see.',
})
class DroppedClaim {
  @Field(() => String, { description: 'The name of the claim or of the scope.' })
  name!: string
  @Field(() => String, { description: 'Where it is missing and why, as a sentence for people.' })
  reason!: string
}

@ObjectType({
  description:
    'The claims that a user would get from a client, without signatures. Claims of a real sign-in are missing: ids (jti, sid, at_hash), auth_time, acr, amr, nonce and cnf.',
})
class TokenPreview {
  @Field(() => JSONObject, { description: 'The claims of the access token.' })
  accessToken!: object
  @Field(() => JSONObject, {
    nullable: true,
    description: 'The claims of the ID token; null if the scope openid is not requested.',
  })
  idToken!: object | null
  @Field(() => JSONObject, {
    nullable: true,
    description: 'The userinfo response; null if the scope openid is not requested.',
  })
  userinfo!: object | null
  @Field(() => [DroppedClaim], {
    description:
      'Configured custom claims and requested scopes that the tokens do not have, and claims that the caller may not see, with the reasons.',
  })
  dropped!: DroppedClaim[]
}

@ArgsType()
class TokenPreviewArgs extends ClientPath {
  @Field(() => ID, { description: 'The id of the user who would sign in.' })
  userId!: string
  @Field(() => String, {
    nullable: true,
    description: 'The requested scopes, separated by spaces. The default is openid.',
  })
  scope?: string | null
  @Field(() => String, {
    nullable: true,
    description: 'The requested resource (RFC 8707), which becomes the audience. The default is the client.',
  })
  resource?: string | null
  @Field(() => ID, {
    nullable: true,
    description: 'The id of the organization that the user would select. Without it, none is selected.',
  })
  orgId?: string | null
}

@Resolver()
export class TokenPreviewResolver {
  @NullableQuery(
    () => TokenPreview,
    'Returns the claims of the access token, the ID token and the userinfo response that a user would get from a client. They are computed like those of a real sign-in with multi-factor authentication, but nothing is signed or stored. Also requires the scopes issuers.clients:read and events:read. The data of organizations and the argument orgId also require issuers.organizations:read.',
  )
  @IssuerLevelScope('issuers.users', 'read')
  @AdditionalScopes('issuers.clients:read', 'events:read')
  previewToken(@Ctx() context: Context, @Args() args: TokenPreviewArgs) {
    return previewToken(context, args)
  }
}
