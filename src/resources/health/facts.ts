/**
 * What health looks at. Each fact is read by one statement for any number of issuers or accounts, and names the scope
 * that reads it: whoever lacks that scope is not told what follows from it. A finding that needs no fact has none here.
 */
import { isPublic } from '../../config.js'
import type { PlatformScope } from '../../kernel/scopes.js'
import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { loader } from '../../platform/loader.js'
import { effectiveScopesSql } from '../authority.js'
import type { KeyTimes } from '../issuer-keys.js'
import { type MethodSettings, secretsSql } from '../issuers/readiness.js'
import type { IssuerSettings } from '../issuers/settings.js'
import { countsSql } from '../organizations/membership.js'

/** A client secret that has been in use for longer is reported. */
export const SECRET_AGE = 365 * DAY
/** Of one issuer: the newest authentication methods, the newest clients, and the newest users that are looked at. */
const METHODS = 200
const CLIENTS = 1000
export const USERS = 100_000
/** Of one account: failing webhooks and domains. */
const RECEIVERS = 100

/** Of the deployment, without a scope: it is not the data of a tenant. */
export interface Deployment {
  isPublic: boolean
  sendsMail: boolean
  /** Unix milliseconds. */
  now: number
}

export interface Method extends MethodSettings {
  id: string
  name: string
  enabledLogin: boolean
  enabledSignup: boolean
}

export interface ClientFacts {
  /** An active client sends users to the sign-in page. */
  signUsersIn: boolean
  /** Active clients that a finding may be about. */
  noted: {
    id: string
    name: string
    type: string
    redirectUris: string[]
    postLogoutRedirectUris: string[]
    /** Unix milliseconds; null without a secret. */
    secretSetAt: number | null
  }[]
}

export interface IssuerFacts {
  settings: IssuerSettings
  methods: Method[]
  /** Active users without a second factor, of an issuer that requires one. */
  usersWithoutFactor: number
  clients: ClientFacts
  /** Signing keys in the order in which they sign. */
  keys: KeyTimes[]
}

export interface AccountFacts {
  /** People with full authority on the account, counted up to two. */
  administrators: number
  failingWebhooks: { id: string; host: string }[]
  unassignedDomains: string[]
}

interface Fact<Value> {
  scope: PlatformScope
  /** Answers the ids in their order. */
  read(context: Context, ids: readonly string[]): Promise<Value[]>
}
type FactsOf<Facts> = { readonly [Name in keyof Facts]: Fact<Facts[Name]> }

/** A fact whose statement answers `of` and `value`, for those of the ids $1 that have any. */
function fact<Value>(
  scope: PlatformScope,
  { name, text, values = () => [] }: { name: string; text: string; values?: (context: Context) => unknown[] },
  absent: Value,
): Fact<Value> {
  return {
    scope,
    async read(context, ids) {
      const rows = await context.query<{ of: string; value: Value }>(`health-${name}`, text, [ids, ...values(context)])
      const byId = new Map(rows.map(({ of, value }) => [of, value]))
      return ids.map((id) => byId.get(id) ?? absent)
    },
  }
}

const methodsText = `
  SELECT i.id AS of, (SELECT json_agg(m) FROM (
    SELECT m.id, m.name, m.method, m.enabled_login AS "enabledLogin", m.enabled_signup AS "enabledSignup", m.settings,
      ${secretsSql} AS secrets
    FROM auth_methods m WHERE m.issuer_id = i.id ORDER BY m.id DESC LIMIT ${METHODS}) m) AS value
  FROM issuers i WHERE i.id = ANY($1)`

/** Backup codes that are all used are no factor any more. */
const withoutFactorText = `
  SELECT i.id AS of, (SELECT count(*)::int FROM (
      SELECT id FROM users WHERE issuer_id = i.id AND status = 'active' ORDER BY created_at DESC, id DESC LIMIT ${USERS}) u
    WHERE NOT EXISTS (SELECT 1 FROM verifiers v WHERE v.user_id = u.id
      AND (v.type IN ('passkey', 'totp') OR (v.type = 'backup_codes' AND cardinality(v.code_hashes) > 0)))) AS value
  FROM issuers i WHERE i.id = ANY($1) AND i.settings #>> '{security,mfa_required}' = 'true'`

const LOOPBACK = '"https?://(localhost|127\\.0\\.0\\.1|\\[::1\\])[:/?"]'

/** @param $2 a secret from before is old, $3 are loopback redirect URIs of interest? */
const clientsText = `
  SELECT i.id AS of, json_build_object(
    'signUsersIn', EXISTS (SELECT 1 FROM clients c WHERE c.issuer_id = i.id AND c.status = 'active'
      AND c.settings #>> '{openid,application_type}' IS DISTINCT FROM 'm2m'),
    'noted', (SELECT coalesce(json_agg(n), '[]') FROM (
      SELECT c.id, c.name,
        coalesce(c.settings #>> '{openid,application_type}', CASE WHEN c.confidential THEN 'web' ELSE 'spa' END) AS type,
        coalesce(c.settings #> '{openid,redirect_uris}', '[]') AS "redirectUris",
        coalesce(c.settings #> '{openid,post_logout_redirect_uris}', '[]') AS "postLogoutRedirectUris",
        current.secret_set_at AS "secretSetAt"
      FROM clients c LEFT JOIN LATERAL (
        SELECT max((s->>'created_at')::bigint) AS secret_set_at FROM jsonb_array_elements(c.secrets) s
        WHERE s->>'expires_at' IS NULL) current ON true
      WHERE c.issuer_id = i.id AND c.status = 'active' AND (
        i.settings #> '{security,redirect_uri_rules}' IS NOT NULL OR current.secret_set_at < $2::bigint
        OR ($3::boolean AND c.settings #>> '{openid,redirect_uris}' ~ '${LOOPBACK}'))
      ORDER BY c.created_at DESC, c.id DESC LIMIT ${CLIENTS}) n)) AS value
  FROM issuers i WHERE i.id = ANY($1)`

const keysText = `
  SELECT issuer_id AS of,
    json_agg(json_build_object('alg', alg, 'createdAt', created_at, 'signsFrom', signs_from) ORDER BY signs_from, kid)
      AS value
  FROM signing_keys WHERE issuer_id = ANY($1) GROUP BY issuer_id`

const administratorsText = `
  SELECT a.id AS of, (SELECT count(*)::int FROM (
      SELECT u.id FROM users u WHERE u.id = a.owner_user_id AND u.status = 'active'
      UNION
      SELECT u.id FROM organization_members m JOIN organizations o ON o.id = m.org_id JOIN users u ON u.id = m.user_id
      WHERE m.org_id = a.admin_org_id AND ${countsSql} AND u.status = 'active' AND 'svc:all' = ANY(${effectiveScopesSql})
      LIMIT 2) people) AS value
  FROM accounts a WHERE a.id = ANY($1)`

const webhooksText = `
  SELECT a.id AS of, (SELECT json_agg(w) FROM (
    SELECT w.id, substring(w.url FROM '^[a-z]+://([^/?]+)') AS host FROM webhooks w
    WHERE w.account_id = a.id AND w.status = 'failing' ORDER BY w.id DESC LIMIT ${RECEIVERS}) w) AS value
  FROM accounts a WHERE a.id = ANY($1)`

const domainsText = `
  SELECT account_id AS of, json_agg(host ORDER BY id) AS value FROM domains
  WHERE account_id = ANY($1) AND verified AND issuer_id IS NULL GROUP BY account_id`

/** The facts of an issuer besides its settings, which come with it. */
export const issuerFacts: FactsOf<Omit<IssuerFacts, 'settings'>> = {
  methods: fact('issuers.auth_methods:read', { name: 'methods', text: methodsText }, []),
  usersWithoutFactor: fact('issuers.users:read', { name: 'users', text: withoutFactorText }, 0),
  clients: fact(
    'issuers.clients:read',
    {
      name: 'clients',
      text: clientsText,
      values: ({ now, config }) => [now() - SECRET_AGE, isPublic(config)],
    },
    { signUsersIn: false, noted: [] },
  ),
  keys: fact('issuers:read', { name: 'keys', text: keysText }, []),
}

export const accountFacts: FactsOf<AccountFacts> = {
  administrators: fact('accounts:read', { name: 'administrators', text: administratorsText }, 0),
  failingWebhooks: fact('webhooks:read', { name: 'webhooks', text: webhooksText }, []),
  unassignedDomains: fact('domains:read', { name: 'domains', text: domainsText }, []),
}

export const deploymentOf = ({ config, now }: Context): Deployment => ({
  isPublic: isPublic(config),
  sendsMail: config.mail.url !== undefined,
  now: now(),
})

/** Reads these facts of one issuer or account, together with those of the others that this request asks about. */
export async function readFacts<Facts>(
  context: Context,
  table: FactsOf<Facts>,
  names: readonly (keyof Facts)[],
  id: string,
): Promise<Partial<Facts>> {
  const read = async (name: keyof Facts) => [name, await loader(context, table[name].read).load(id)] as const
  return Object.fromEntries(await Promise.all(names.map(read))) as Partial<Facts>
}
