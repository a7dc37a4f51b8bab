/**
 * The schema: every resource's GraphQL types in one place, with the guard around each root and relation field. A field
 * that should have named its scope and did not keeps the product from starting.
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
import { authorize, type Demand } from '../access/guard.js'
import { badRequest } from '../kernel/errors.js'
import type { Context } from '../platform/context.js'
import { AccountResolver } from '../resources/accounts/accounts.graphql.js'
import { AgentResolver } from '../resources/agents/agents.graphql.js'
import { AgentVerifierResolver } from '../resources/agents/verifiers.graphql.js'
import { ClientResolver } from '../resources/clients/clients.graphql.js'
import { NewBackupCodes, TotpEnrollment, VerifierResolver } from '../resources/credentials/verifiers.graphql.js'
import { DomainResolver } from '../resources/domains/domains.graphql.js'
import { EventResolver } from '../resources/events/events.graphql.js'
import { AccountHealthResolver, IssuerHealthResolver } from '../resources/health/health.graphql.js'
import { AuthMethodResolver } from '../resources/issuers/auth-methods.graphql.js'
import { IssuerResolver } from '../resources/issuers/issuers.graphql.js'
import { ApiKeyResolver } from '../resources/keys/api-keys.graphql.js'
import { OrganizationApiKeyResolver } from '../resources/keys/organization-api-keys.graphql.js'
import { PersonalTokenResolver } from '../resources/keys/personal-tokens.graphql.js'
import { NoteResolver } from '../resources/notes/notes.graphql.js'
import { GroupResolver, OrganizationGroupsResolver } from '../resources/organizations/groups.graphql.js'
import { InvitationResolver, OrganizationInvitationsResolver } from '../resources/organizations/invitations.graphql.js'
import { MemberResolver, OrganizationMembersResolver } from '../resources/organizations/members.graphql.js'
import { OrganizationResolver, UserOrganizationsResolver } from '../resources/organizations/organizations.graphql.js'
import { CreditResolver } from '../resources/payments/credits.graphql.js'
import { metered } from '../resources/payments/metering.js'
import { PaymentMethodResolver } from '../resources/payments/payment-methods.graphql.js'
import { requireRecentSignIn } from '../resources/recent-sign-in.js'
import { SessionResolver } from '../resources/sessions/sessions.graphql.js'
import { ApprovalResolver } from '../resources/users/approvals.graphql.js'
import { ImportResolver } from '../resources/users/import.graphql.js'
import { UserResolver } from '../resources/users/users.graphql.js'
import { WebhookDeliveryResolver } from '../resources/webhooks/deliveries.graphql.js'
import { WebhookResolver } from '../resources/webhooks/webhooks.graphql.js'
import { CallerResolver } from './caller.js'
import { asksForRecentSignIn, commitsItself, demandOf, placeOf } from './demands.js'
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
  UserResolver,
  ImportResolver,
  VerifierResolver,
  OrganizationResolver,
  UserOrganizationsResolver,
  MemberResolver,
  OrganizationMembersResolver,
  GroupResolver,
  OrganizationGroupsResolver,
  InvitationResolver,
  OrganizationInvitationsResolver,
  OrganizationApiKeyResolver,
  SessionResolver,
  ApiKeyResolver,
  PersonalTokenResolver,
  ApprovalResolver,
  AgentResolver,
  AgentVerifierResolver,
  NoteResolver,
  DomainResolver,
  EventResolver,
  WebhookResolver,
  WebhookDeliveryResolver,
  CallerResolver,
  PermissionsResolver,
] as const

/** Types that stand in answers only behind the interface that they implement. */
const answers = [TotpEnrollment, NewBackupCodes] as const

/** type-graphql wants one wherever there are subscriptions; ours read the database. */
const noPubSub = {
  publish: () => undefined,
  subscribe: () => {
    throw new Error('A subscription needs a subscribe of its own.')
  },
}

let built: GraphQLSchema | undefined

/** The schema of this build, made once. @throws Error naming the fields that lack a scope */
export function schema(): GraphQLSchema {
  built ??= guarded(
    buildSchemaSync({
      resolvers: [...resolvers],
      orphanedTypes: [...answers],
      validate: false,
      emitSchemaFile: false,
      pubSub: noPubSub,
    }),
  )
  return built
}

/** The SDL, as committed in graphql/schema.graphql. */
export const sdl = (): string => `${printSchema(lexicographicSortSchema(schema()))}\n`

function guarded(schema: GraphQLSchema): GraphQLSchema {
  const roots = new Set([schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()])
  const related = new Set(
    getMetadataStorage().fieldResolvers.map((field) => `${field.getObjectType?.().name}.${field.schemaName}`),
  )
  const open: string[] = []
  for (const type of Object.values(schema.getTypeMap())) {
    if (!(type instanceof GraphQLObjectType) || type.name.startsWith('__')) continue
    for (const field of Object.values(type.getFields())) {
      const demand = demandOf(field)
      if (demand && type === schema.getSubscriptionType()) guardSubscription(field, demand)
      else if (demand) guardField(field, demand, roots.has(type) ? undefined : type.name)
      else if (roots.has(type) || (related.has(`${type.name}.${field.name}`) && isTenantData(field))) {
        open.push(`${type.name}.${field.name}`)
      }
    }
  }
  if (open.length > 0) throw new Error(`These GraphQL fields name no scope: ${open.join(', ')}. Add @Scope(…).`)
  return schema
}

/** Things with an id, and pages of them, belong to a tenant. */
function isTenantData(field: GraphQLField<unknown, Context>): boolean {
  const type = getNamedType(field.type)
  return type instanceof GraphQLObjectType && ('id' in type.getFields() || 'data' in type.getFields())
}

function guardField(field: GraphQLField<unknown, Context>, demand: Demand, parent: string | undefined): void {
  const resolve = field.resolve!
  const recent = asksForRecentSignIn(field)
  field.resolve = async (source, args, context, info) => {
    const place = parent === undefined ? placeOf(args) : placeOf(placeOfParent(parent, source as Row))
    if (demand.inIssuer) delete place.orgId
    const allowed = await authorize(context, demand, place)
    if (recent) requireRecentSignIn(allowed)
    const work = (inside: Context) => resolve(source, args, inside, info)
    return parent === undefined ? metered(allowed, field.name, place.accountId, work) : work(allowed)
  }
}

/**
 * Does everything in the table of prices have a name that can cost something?
 * @throws Error at start, naming the others
 */
export function checkPrices(prices: Context['prices']): void {
  const roots = { ...schema().getQueryType()?.getFields(), ...schema().getMutationType()?.getFields() }
  const wrong = Object.entries(prices).filter(([name, price]) => {
    const field = Object.hasOwn(roots, name) ? roots[name] : undefined
    const inAccount = field?.args.some((arg) => arg.name === 'accountId')
    return !field || !inAccount || commitsItself(field) || !Number.isSafeInteger(price) || price < 1
  })
  if (wrong.length > 0) {
    const names = wrong.map(([name, price]) => `${name} (${price})`).join(', ')
    throw new Error(`These can have no such price: ${names}. Name root fields below an account, in whole micro-USD.`)
  }
}

/** Asked when the stream begins, and again whenever it wants to go on, of the caller as it is then. */
function guardSubscription(field: GraphQLField<unknown, Context>, demand: Demand): void {
  const subscribe = field.subscribe!
  field.subscribe = async (source, args, context, info) => {
    const { stream } = context
    if (!stream) throw badRequest('Subscriptions are answered as a stream: send Accept: text/event-stream.')
    const stillAllowed = async () => void (await authorize(await stream.readmit(), demand, placeOf(args)))
    const inside = await authorize(context, demand, placeOf(args))
    return subscribe(source, args, { ...inside, stream: { ...stream, stillAllowed } }, info)
  }
}

type Row = { id: string; accountId?: string; issuerId?: string; orgId?: string }

/** A row lies at the ids that it carries; an account, an issuer and an organization are places themselves. */
function placeOfParent(type: string, row: Row): Record<string, unknown> {
  if (type === 'Account') return { accountId: row.id }
  if (type === 'Issuer') return { accountId: row.accountId, issuerId: row.id }
  if (type === 'Organization') return { accountId: row.accountId, issuerId: row.issuerId, orgId: row.id }
  return { ...row }
}
