/**
 * Builds the GraphQL schema of all resources and adds authorization to each root and relation field. A root field
 * without a scope, or a relation field with tenant data and without a scope, is an error at startup.
 */
import 'reflect-metadata'
import {
  type GraphQLField,
  GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  lexicographicSortSchema,
  printSchema,
} from 'graphql'
import { buildSchemaSync, getMetadataStorage } from 'type-graphql'
import { authorize, type RequiredPermission } from '../access/authorize.js'
import { badRequest } from '../kernel/errors.js'
import type { Context } from '../platform/context.js'
import { AccountResolver } from '../resources/accounts/accounts.graphql.js'
import { NoteAuthorResolver, NoteRelationsResolver } from '../resources/accounts/note-relations.graphql.js'
import { AgentResolver } from '../resources/agents/agents.graphql.js'
import { AgentVerifierResolver } from '../resources/agents/verifiers.graphql.js'
import { clientRelationResolvers } from '../resources/clients/client-relations.graphql.js'
import { ClientResolver } from '../resources/clients/clients.graphql.js'
import { NewBackupCodes, TotpEnrollment } from '../resources/credentials/new-verifier.js'
import { VerifierResolver } from '../resources/credentials/verifiers.graphql.js'
import { DomainResolver } from '../resources/domains/domains.graphql.js'
import { EventActorResolver, EventResolver } from '../resources/events/events.graphql.js'
import { AccountHealthResolver, IssuerHealthResolver } from '../resources/health/health.graphql.js'
import { AuthMethodResolver } from '../resources/issuers/auth-methods.graphql.js'
import { issuerRelationResolvers } from '../resources/issuers/issuer-relations.graphql.js'
import { IssuerResolver } from '../resources/issuers/issuers.graphql.js'
import { TokenPreviewResolver } from '../resources/issuers/token-preview.graphql.js'
import {
  AccountApiKeyResolver,
  ApiKeyResolver,
  OrganizationApiKeyResolver,
} from '../resources/keys/api-keys.graphql.js'
import { PersonalTokenResolver } from '../resources/keys/personal-tokens.graphql.js'
import { NoteResolver } from '../resources/notes/notes.graphql.js'
import { GroupResolver, OrganizationGroupsResolver } from '../resources/organizations/groups.graphql.js'
import { InvitationResolver, OrganizationInvitationsResolver } from '../resources/organizations/invitations.graphql.js'
import { MemberResolver, OrganizationMembersResolver } from '../resources/organizations/members.graphql.js'
import {
  ApiKeyOrganizationResolver,
  OrganizationResolver,
  UserOrganizationsResolver,
} from '../resources/organizations/organizations.graphql.js'
import { CreditResolver } from '../resources/payments/credits.graphql.js'
import { withMetering } from '../resources/payments/metering.js'
import { PaymentMethodResolver } from '../resources/payments/payment-methods.graphql.js'
import { requireRecentSignIn } from '../resources/recent-sign-in.js'
import { InitialAccessTokenResolver } from '../resources/registration/initial-access-tokens.graphql.js'
import { EventSessionResolver, SessionResolver } from '../resources/sessions/sessions.graphql.js'
import { ApprovalResolver } from '../resources/users/approvals.graphql.js'
import { ImportResolver } from '../resources/users/import.graphql.js'
import {
  EventUserResolver,
  PersonalTokenUserResolver,
  SessionUserResolver,
  UserResolver,
} from '../resources/users/users.graphql.js'
import { WebhookDeliveryResolver } from '../resources/webhooks/deliveries.graphql.js'
import { WebhookResolver } from '../resources/webhooks/webhooks.graphql.js'
import { CallerResolver } from './caller.js'
import {
  commitsItself,
  permissionOfParent,
  requiredPermissionOf,
  requiresRecentSignIn,
  resourcePathOf,
  responseStorageOf,
} from './field-extensions.js'
import { PermissionsResolver } from './permissions.js'

const resolvers = [
  AccountResolver,
  PaymentMethodResolver,
  CreditResolver,
  IssuerResolver,
  AccountHealthResolver,
  IssuerHealthResolver,
  AuthMethodResolver,
  ClientResolver,
  TokenPreviewResolver,
  InitialAccessTokenResolver,
  UserResolver,
  SessionUserResolver,
  PersonalTokenUserResolver,
  EventUserResolver,
  ImportResolver,
  VerifierResolver,
  OrganizationResolver,
  UserOrganizationsResolver,
  ApiKeyOrganizationResolver,
  MemberResolver,
  OrganizationMembersResolver,
  GroupResolver,
  OrganizationGroupsResolver,
  InvitationResolver,
  OrganizationInvitationsResolver,
  OrganizationApiKeyResolver,
  SessionResolver,
  AccountApiKeyResolver,
  EventSessionResolver,
  ApiKeyResolver,
  PersonalTokenResolver,
  ApprovalResolver,
  AgentResolver,
  AgentVerifierResolver,
  NoteResolver,
  NoteRelationsResolver,
  NoteAuthorResolver,
  DomainResolver,
  EventResolver,
  EventActorResolver,
  WebhookResolver,
  WebhookDeliveryResolver,
  ...clientRelationResolvers,
  ...issuerRelationResolvers,
  CallerResolver,
  PermissionsResolver,
] as const

/** Object types that no field returns directly. Fields return the interface that these types implement. */
const interfaceImplementations = [TotpEnrollment, NewBackupCodes] as const

/**
 * type-graphql requires a PubSub for subscriptions. The subscriptions of Gatehouse define their own `subscribe`
 * function, which reads the database, so that this PubSub is never used.
 */
const noPubSub = {
  publish: () => undefined,
  subscribe: () => {
    throw new Error('A subscription must define its own subscribe function.')
  },
}

let cachedSchema: GraphQLSchema | undefined

/** Returns the schema, which is built once. @throws Error that lists fields without a scope */
export function schema(): GraphQLSchema {
  cachedSchema ??= describeKeys(
    addGuards(
      buildSchemaSync({
        resolvers: [...resolvers],
        orphanedTypes: [...interfaceImplementations],
        validate: false,
        emitSchemaFile: false,
        pubSub: noPubSub,
      }),
    ),
  )
  return cachedSchema
}

/** Says in the description of `idempotencyKey` if the response of a mutation is never replayed. */
function describeKeys(schema: GraphQLSchema): GraphQLSchema {
  for (const field of Object.values(schema.getMutationType()!.getFields())) {
    const key = field.args.find(({ name }) => name === 'idempotencyKey')
    const storage = responseStorageOf(field)
    if (key && storage === 'never') key.description = neverReplayed
    else if (key && typeof storage === 'function') key.description = `${key.description} ${replayedWithoutSecret}`
  }
  return schema
}

const neverReplayed =
  'Has no effect: the response contains a secret, is never stored, and a repeated request runs the mutation again.'
const replayedWithoutSecret =
  'A response with a secret that is shown once is never stored: a repeated request then runs the mutation again.'

/** Returns the SDL, as committed in graphql/schema.graphql. */
export const sdl = (): string => `${printSchema(lexicographicSortSchema(schema()))}\n`

function addGuards(schema: GraphQLSchema): GraphQLSchema {
  const rootTypes = new Set([schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()])
  const relationFields = new Set(
    getMetadataStorage().fieldResolvers.map((field) => `${field.getObjectType?.().name}.${field.schemaName}`),
  )
  const unguardedFields: string[] = []
  for (const type of Object.values(schema.getTypeMap())) {
    if (!(type instanceof GraphQLObjectType) || type.name.startsWith('__')) continue
    for (const field of Object.values(type.getFields())) {
      const permission = requiredPermissionOf(field)
      if (permission && type === schema.getSubscriptionType()) guardSubscription(field, permission)
      else if (permission) guardField(field, permission, rootTypes.has(type) ? undefined : type.name)
      else if (rootTypes.has(type) || (relationFields.has(`${type.name}.${field.name}`) && isTenantData(field))) {
        unguardedFields.push(`${type.name}.${field.name}`)
      }
    }
  }
  if (unguardedFields.length > 0)
    throw new Error(`These GraphQL fields have no scope: ${unguardedFields.join(', ')}. Add @Scope(…).`)
  return schema
}

/** Returns true if the type of a field has an `id`, or is a page of such types. Such types contain tenant data. */
function isTenantData(field: GraphQLField<unknown, Context>): boolean {
  const type = getNamedType(field.type)
  return type instanceof GraphQLObjectType && ('id' in type.getFields() || 'data' in type.getFields())
}

function guardField(
  field: GraphQLField<unknown, Context>,
  permission: RequiredPermission,
  parent: string | undefined,
): void {
  const resolve = field.resolve!
  const isRecentSignInRequired = requiresRecentSignIn(field)
  field.resolve = async (source, args, context, info) => {
    const relation = permissionOfParent(field, source)
    const path =
      parent === undefined
        ? resourcePathOf(args)
        : resourcePathOf({ ...(relation ?? pathIdsOfParent(parent, source as ParentRow)) })
    const isAuthorized = parent === undefined && context.authorizedField === field.name
    const allowed = isAuthorized ? context : await authorize(context, relation ?? permission, path)
    if (isRecentSignInRequired) requireRecentSignIn(allowed)
    const work = (tx: Context) => resolve(source, args, tx, info)
    return parent === undefined ? withMetering(allowed, field.name, path.accountId, work) : work(allowed)
  }
}

/**
 * Checks that every price belongs to a root field that can be charged.
 * @throws Error at startup that lists invalid prices
 */
export function checkPrices(prices: Context['prices']): void {
  const roots = { ...schema().getQueryType()?.getFields(), ...schema().getMutationType()?.getFields() }
  const invalidPrices = Object.entries(prices).filter(([name, price]) => {
    const field = Object.hasOwn(roots, name) ? roots[name] : undefined
    const inAccount = field?.args.some((arg) => arg.name === 'accountId')
    return !field || !inAccount || commitsItself(field) || !Number.isSafeInteger(price) || price < 1
  })
  if (invalidPrices.length > 0) {
    const names = invalidPrices.map(([name, price]) => `${name} (${price})`).join(', ')
    throw new Error(
      `Invalid prices: ${names}. In src/resources/payments/prices.ts, each key must be a root field that has the argument accountId and does not commit its own transaction, and each price a positive whole number of micro-USD.`,
    )
  }
}

/**
 * Authorizes the caller when the stream begins. The subscription calls `requireStillAuthorized` while the stream is
 * open, which authenticates and authorizes the caller again.
 */
function guardSubscription(field: GraphQLField<unknown, Context>, permission: RequiredPermission): void {
  const subscribe = field.subscribe!
  field.subscribe = async (source, args, context, info) => {
    const { stream } = context
    if (!stream)
      throw badRequest('A subscription requires a streamed response. Set the Accept header to text/event-stream.')
    const stillAllowed = async () =>
      void (await authorize(await stream.reauthenticate(), permission, resourcePathOf(args)))
    const tx = await authorize(context, permission, resourcePathOf(args))
    return subscribe(source, args, { ...tx, stream: { ...stream, requireStillAuthorized: stillAllowed } }, info)
  }
}

type ParentRow = { id: string; accountId?: string; issuerId?: string; orgId?: string }

/**
 * Returns the path IDs of a parent row: its own ID for an account, issuer or organization, and the IDs in its columns.
 */
function pathIdsOfParent(type: string, row: ParentRow): Record<string, unknown> {
  if (type === 'Account') return { accountId: row.id }
  if (type === 'Issuer') return { accountId: row.accountId, issuerId: row.id }
  if (type === 'Organization') return { accountId: row.accountId, issuerId: row.issuerId, orgId: row.id }
  return { ...row }
}
