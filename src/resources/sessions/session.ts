import { ArgsType, Field, ID, InputType, Int, ObjectType } from 'type-graphql'
import { fieldSchemas } from '../../kernel/input.js'
import { AccountId, CreatedAt, Id, IssuerId, OrgId, UpdatedAt } from '../common-properties.js'
import { EventTarget, enumType, inputRulesOf, Property, pageOf } from '../declaration.js'
import { IssuerPath, PageArgs, Timestamp } from '../graphql-types.js'

export const SessionStatus = enumType('SessionStatus', 'Whether the tokens of a session are valid.', {
  active: 'The session is in use, and its tokens are valid.',
  inactive: 'The idle timeout has passed. A refresh or a single sign-on makes the session active again.',
  suspended: 'An administrator has suspended the session. Its tokens are invalid until the session is reactivated.',
  revoked: 'The session has ended before its expiry, for example by a sign-out.',
  expired: 'The maximum lifetime of the session has passed.',
})
export type SessionStatus = keyof typeof SessionStatus

export const RevocationReason = enumType('RevocationReason', 'Why a session was revoked.', {
  user_logout: 'The user has signed out.',
  admin_action: 'An administrator ended the session, or suspended, blocked or deleted the user.',
  security_event: 'The account of the user may be in the hands of an attacker.',
  password_changed: 'The password of the user was changed.',
  inactivity: 'The user was inactive for too long.',
  token_compromised: 'A token of the session may be known to an attacker.',
  other: 'Another reason.',
})
export type RevocationReason = keyof typeof RevocationReason

export const SuspensionReason = enumType('SuspensionReason', 'Why a session was suspended.', {
  security_event: 'The account of the user may be in the hands of an attacker.',
  token_compromised: 'A token of the session may be known to an attacker.',
  device_mismatch: 'A request came from another device than the sign-in.',
  risk_review: 'The session waits for a review of its risk.',
  other: 'Another reason.',
})
export type SuspensionReason = keyof typeof SuspensionReason

@ObjectType({ description: 'The device on which the session started.' })
export class SessionDevice {
  @Property(() => String, {
    description: 'The header User-Agent of the sign-in.',
    example: 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:140.0) Gecko/20100101 Firefox/140.0',
    nullable: true,
  })
  readonly userAgent!: string | null
  @Property(() => String, { description: 'The IP address of the sign-in.', example: '203.0.113.7', nullable: true })
  readonly ipAddress!: string | null
  @Property(() => String, { description: 'A fingerprint of the browser. Null if unknown.', nullable: true })
  readonly fingerprint!: string | null
}

@EventTarget('session')
@ObjectType({ description: 'The sign-in of a user at one client. Its id is the claim sid of the tokens.' })
export class Session {
  @Id('session', 'ses_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @AccountId({ graphqlOnly: true })
  readonly accountId!: string
  @IssuerId()
  readonly issuerId!: string
  @Property(() => ID, { description: 'The user who signed in.', example: 'usr_01kb3w8hxv6k8y1f4sn0q3a7pd' })
  readonly userId!: string
  @Property(() => ID, {
    description: 'The client at which the user signed in.',
    example: 'cli_01kb3w8hxv6k8y1f4sn0q3a7pd',
  })
  readonly clientId!: string
  @OrgId({ description: 'The organization for which the user signed in. Null without one.', nullable: true })
  readonly orgId!: string | null
  @Property(() => SessionStatus, {
    description: 'The current status. It becomes inactive at idleExpiresAt and expired at expiresAt.',
    example: 'active',
  })
  readonly status!: SessionStatus
  @Property(() => SessionDevice, { description: 'The device on which the session started.' })
  readonly device!: SessionDevice
  @Property(() => Int, {
    description: 'The time of the authentication in Unix seconds, like the claim auth_time.',
    example: 1763900000,
  })
  readonly authTime!: number
  @Property(() => String, {
    description: 'The authentication context class, like the claim acr. Null if unknown.',
    example: 'urn:svc:method:password',
    nullable: true,
  })
  readonly acr!: string | null
  @Property(() => [String], {
    description: 'The authentication methods (RFC 8176), like the claim amr.',
    example: ['pwd', 'otp', 'mfa'],
  })
  readonly amr!: string[]
  @Property(() => [String], { description: 'The ids (jti) of the current access tokens.' })
  readonly accessTokenJti!: string[]
  @Property(() => [String], { description: 'The ids (jti) of the current refresh tokens.' })
  readonly refreshTokenJti!: string[]
  @Property(() => Timestamp, {
    description: 'When the session was last used, in Unix milliseconds.',
    example: 1763900000000,
  })
  readonly lastActivityAt!: number
  @Property(() => Timestamp, {
    description: 'When the session expires at the latest, in Unix milliseconds.',
    example: 1764500000000,
  })
  readonly expiresAt!: number
  @Property(() => Timestamp, {
    description:
      'When the session becomes inactive if it is not used, in Unix milliseconds. Null without an idle timeout.',
    example: 1763986400000,
    nullable: true,
  })
  readonly idleExpiresAt!: number | null
  @Property(() => Timestamp, { description: 'When the session was revoked, in Unix milliseconds.', nullable: true })
  readonly revokedAt!: number | null
  @Property(() => RevocationReason, { description: 'Why the session was revoked.', nullable: true })
  readonly revocationReason!: RevocationReason | null
  @Property(() => Timestamp, { description: 'When the session was suspended, in Unix milliseconds.', nullable: true })
  readonly suspendedAt!: number | null
  @Property(() => SuspensionReason, { description: 'Why the session was suspended.', nullable: true })
  readonly suspensionReason!: SuspensionReason | null
  @Property(() => String, {
    description: 'Details of the revocation or suspension, as the caller gave them.',
    nullable: true,
  })
  readonly reasonDetails!: string | null
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

export const SessionPage = pageOf(Session)

const ReasonDetails = () =>
  Property(() => String, {
    description: 'Details of the reason.',
    example: 'Ticket 4711',
    nullable: true,
    rule: fieldSchemas.text().nullable(),
  })

const AllSessions = (verb: string) =>
  Property(() => Boolean, {
    description: `Whether to ${verb} all sessions of the user instead of this one only.`,
    nullable: true,
    rule: fieldSchemas.boolean.nullable(),
  })

@InputType({ description: 'Why a session is revoked, and which sessions.' })
export class RevokeSessionInput {
  @Property(() => RevocationReason, { description: 'Why the session is revoked.', example: 'admin_action' })
  reason!: RevocationReason
  @ReasonDetails()
  reasonDetails?: string | null
  @AllSessions('revoke')
  revokeAllUserSessions?: boolean | null
}

@InputType({ description: 'Why a session is suspended, and which sessions.' })
export class SuspendSessionInput {
  @Property(() => SuspensionReason, { description: 'Why the session is suspended.', example: 'risk_review' })
  reason!: SuspensionReason
  @ReasonDetails()
  reasonDetails?: string | null
  @AllSessions('suspend')
  suspendAllUserSessions?: boolean | null
}

export const revokeRules = inputRulesOf(RevokeSessionInput)
export const suspendRules = inputRulesOf(SuspendSessionInput)

@ArgsType()
export class SessionPath extends IssuerPath {
  @Field(() => ID, { description: 'The id of the session.' })
  sessionId!: string
}

@ArgsType()
export class SessionFilter extends PageArgs {
  @Field(() => SessionStatus, { nullable: true, description: 'Lists only sessions whose current status this is.' })
  status?: SessionStatus | null
}
