/**
 * Facts for the health findings. One statement reads a fact for any number of issuers or accounts. Each fact names the
 * scope that reading the fact requires. Callers without the scope do not see findings that are based on the fact.
 */
import { isPublicDeployment } from '../../config.js'
import { limits } from '../../kernel/limits.js'
import type { PlatformScope } from '../../kernel/scopes.js'
import type { Context } from '../../platform/context.js'
import { loader } from '../../platform/postgres/loader.js'
import { effectiveScopesSql } from '../authority.js'
import type { SigningSchedule } from '../issuer-keys.js'
import { type MethodSettings, secretsSql } from '../issuers/auth-method-readiness.js'
import type { IssuerSettings } from '../issuers/settings.js'
import { activeMembershipSql } from '../organizations/membership.js'

/** Facts of the deployment. Reading them requires no scope, because they are not tenant data. */
export interface DeploymentFacts {
  isPublic: boolean
  sendsMail: boolean
  /** Current time in Unix milliseconds. */
  now: number
}

export interface Method extends MethodSettings {
  id: string
  name: string
  enabledLogin: boolean
  enabledSignup: boolean
}

export interface ClientFacts {
  /** Whether an active client sends users to the sign-in page. */
  signUsersIn: boolean
  /**
   * The active clients that the WHERE clause of `clientsText` selects, newest first, at most `maxHealthCheckedClients`.
   * Extend the clause for a new finding about clients.
   */
  relevantClients: {
    id: string
    name: string
    type: string
    redirectUris: string[]
    postLogoutRedirectUris: string[]
    /** When the current secret was set (Unix milliseconds); null without a secret. */
    secretSetAt: number | null
  }[]
}

export interface IssuerFacts {
  settings: IssuerSettings
  /** The newest methods, at most `maxHealthCheckedMethods`. */
  methods: Method[]
  /**
   * Number of users without a second factor among the newest `maxHealthCheckedUsers` active users; 0 if the issuer does
   * not require a second factor.
   */
  usersWithoutFactor: number
  clients: ClientFacts
  /** Signing keys in the order in which they sign. */
  keys: SigningSchedule[]
}

export interface AccountFacts {
  /** Number of active users with full authority on the account; 2 means two or more. */
  administrators: number
  failingWebhooks: { id: string; host: string }[]
  unassignedDomains: string[]
}

interface FactReader<Value> {
  scope: PlatformScope
  /** Returns the values in the order of the ids. */
  read(context: Context, ids: readonly string[]): Promise<Value[]>
}
type FactReaders<Facts> = { readonly [Name in keyof Facts]: FactReader<Facts[Name]> }

/**
 * Creates the reader of a fact from a statement. For each id in $1 that has a value, the statement returns the id as
 * `of` and the value as `value`.
 * @param absent the value for ids without a row
 */
function createFactReader<Value>(
  scope: PlatformScope,
  { name, text, values = () => [] }: { name: string; text: string; values?: (context: Context) => unknown[] },
  absent: Value,
): FactReader<Value> {
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
    FROM auth_methods m WHERE m.issuer_id = i.id ORDER BY m.id DESC LIMIT ${limits.maxHealthCheckedMethods}) m) AS value
  FROM issuers i WHERE i.id = ANY($1)`

/** Backup codes count as a second factor only while there are unused codes. */
const withoutFactorText = `
  SELECT i.id AS of, (SELECT count(*)::int FROM (
      SELECT id FROM users WHERE issuer_id = i.id AND status = 'active' ORDER BY created_at DESC, id DESC LIMIT ${limits.maxHealthCheckedUsers}) u
    WHERE NOT EXISTS (SELECT 1 FROM verifiers v WHERE v.user_id = u.id
      AND (v.type IN ('passkey', 'totp') OR (v.type = 'backup_codes' AND cardinality(v.code_hashes) > 0)))) AS value
  FROM issuers i WHERE i.id = ANY($1) AND i.settings #>> '{security,mfa_required}' = 'true'`

const LOOPBACK = '"https?://(localhost|127\\.0\\.0\\.1|\\[::1\\])[:/?"]'

/** $2: a secret that was set before this time is old. $3: whether loopback redirect URIs are a problem. */
const clientsText = `
  SELECT i.id AS of, json_build_object(
    'signUsersIn', EXISTS (SELECT 1 FROM clients c WHERE c.issuer_id = i.id AND c.status = 'active'
      AND c.settings #>> '{openid,application_type}' IS DISTINCT FROM 'm2m'),
    'relevantClients', (SELECT coalesce(json_agg(n), '[]') FROM (
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
      ORDER BY c.created_at DESC, c.id DESC LIMIT ${limits.maxHealthCheckedClients}) n)) AS value
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
      WHERE m.org_id = a.admin_org_id AND ${activeMembershipSql} AND u.status = 'active' AND 'svc:all' = ANY(${effectiveScopesSql})
      LIMIT 2) people) AS value
  FROM accounts a WHERE a.id = ANY($1)`

const webhooksText = `
  SELECT a.id AS of, (SELECT json_agg(w) FROM (
    SELECT w.id, substring(w.url FROM '^[a-z]+://([^/?]+)') AS host FROM webhooks w
    WHERE w.account_id = a.id AND w.status = 'failing' ORDER BY w.id DESC LIMIT ${limits.maxHealthCheckedWebhooks}) w) AS value
  FROM accounts a WHERE a.id = ANY($1)`

const domainsText = `
  SELECT account_id AS of, json_agg(host ORDER BY id) AS value FROM domains
  WHERE account_id = ANY($1) AND verified AND issuer_id IS NULL GROUP BY account_id`

/** The readers of the facts of an issuer, except `settings`, which the row of the issuer contains. */
export const issuerFacts: FactReaders<Omit<IssuerFacts, 'settings'>> = {
  methods: createFactReader('issuers.auth_methods:read', { name: 'methods', text: methodsText }, []),
  usersWithoutFactor: createFactReader('issuers.users:read', { name: 'users', text: withoutFactorText }, 0),
  clients: createFactReader(
    'issuers.clients:read',
    {
      name: 'clients',
      text: clientsText,
      values: ({ now, config }) => [now() - limits.oldClientSecretAge, isPublicDeployment(config)],
    },
    { signUsersIn: false, relevantClients: [] },
  ),
  keys: createFactReader('issuers:read', { name: 'keys', text: keysText }, []),
}

export const accountFacts: FactReaders<AccountFacts> = {
  administrators: createFactReader('accounts:read', { name: 'administrators', text: administratorsText }, 0),
  failingWebhooks: createFactReader('webhooks:read', { name: 'webhooks', text: webhooksText }, []),
  unassignedDomains: createFactReader('domains:read', { name: 'domains', text: domainsText }, []),
}

export const deploymentFacts = ({ config, now }: Context): DeploymentFacts => ({
  isPublic: isPublicDeployment(config),
  sendsMail: config.mail.url !== undefined,
  now: now(),
})

/** Reads facts of one issuer or account. DataLoaders batch the reads for all issuers or accounts of the request. */
export async function readFacts<Facts>(
  context: Context,
  table: FactReaders<Facts>,
  names: readonly (keyof Facts)[],
  id: string,
): Promise<Partial<Facts>> {
  const read = async (name: keyof Facts) => [name, await loader(context, table[name].read).load(id)] as const
  return Object.fromEntries(await Promise.all(names.map(read))) as Partial<Facts>
}
