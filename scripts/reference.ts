/**
 * `npm run reference` prints docs/reference from the tables of the code: errors, events, scopes, settings,
 * findings of health, limits. A test fails when a page is not what this would print.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { settings } from '../src/config.js'
import { readOperations } from '../src/graphql/operations.js'
import { requiredPermissionOf } from '../src/graphql/required-permissions.js'
import { schema } from '../src/graphql/schema.js'
import { errorTable } from '../src/kernel/errors.js'
import { type Limit, limits, limitTable, rateLimitTable } from '../src/kernel/limits.js'
import { ALL_SCOPES, scopeActions, scopeResources } from '../src/kernel/scopes.js'
import { DAY, HOUR, MINUTE, SECOND } from '../src/kernel/time.js'
import { packageRoot } from '../src/platform/package-info.js'
import { eventCatalog, eventDataFields, eventReasons } from '../src/resources/events/event-catalog.js'
import { hiddenFields } from '../src/resources/events/event-fields.js'
import { type Severity, severities } from '../src/resources/health/finding-definition.js'
import { accountFindings, issuerFindings } from '../src/resources/health/findings.js'
import { accountFacts, issuerFacts } from '../src/resources/health/health-facts.js'
import { routes } from '../src/rest/routes.js'

export const referenceFolder = join(packageRoot, 'docs/reference')

const generatedNote =
  '<!-- Generated from the code by `npm run reference`; edit the table in the code, not this page. -->'

/** Formats a Markdown table with aligned columns. */
function table(head: string[], rows: string[][]): string {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', '\\|')))
  const widths = head.map((_, at) => Math.max(...cells.map((row) => row[at]!.length)))
  const line = (row: string[]) => `| ${row.map((cell, at) => cell.padEnd(widths[at]!)).join(' | ')} |`
  return [line(cells[0]!), line(widths.map((width) => '-'.repeat(width))), ...cells.slice(1).map(line)].join('\n')
}

const code = (text: string): string => `\`${text}\``
const page = (...parts: string[]): string => `${parts.join('\n\n')}\n`
const groupBy = <T>(list: T[], key: (item: T) => string): [string, T[]][] => {
  const groups = new Map<string, T[]>()
  for (const item of list) groups.set(key(item), [...(groups.get(key(item)) ?? []), item])
  return [...groups]
}

function errors(): string {
  const rows = Object.entries(errorTable).map(([name, { status, meaning }]) => [code(name), String(status), meaning])
  return page(
    '# Errors',
    generatedNote,
    '## Core API: `/v1` and GraphQL',
    `Every error of \`/v1\` has this body. \`details\` is present for invalid input, with one entry per error. GraphQL errors
have the same information in \`extensions\`: \`code\` (uppercase), \`status\`, \`details\`, and \`scope\`, the missing scope.
\`field\` is a path in the body, a parameter, or the name of a header (\`If-Match\`).`,
    `\`\`\`json
{
  "error": "invalid_request",
  "error_description": "settings.openid.redirect_uris[0]: must not have a fragment.",
  "request_id": "req_…",
  "details": [
    {
      "field": "settings.openid.redirect_uris[0]",
      "code": "invalid_format",
      "message": "must not have a fragment."
    }
  ]
}
\`\`\``,
    table(['`error`', 'Status', 'Meaning'], rows),
    `Retry a request with status 429, 502 or 503 after \`Retry-After\` seconds, with the same \`Idempotency-Key\` if it had one.
Do not retry other 4xx errors without changing the request.`,
    '## OAuth endpoints',
    `Errors have the body \`{"error", "error_description"}\` (RFC 6749, section 5.2) and \`Cache-Control: no-store\`. Errors of
\`/authorize\` are parameters of the redirect, with \`state\` and \`iss\`. An invalid \`client_id\` or \`redirect_uri\` causes an
error page, never a redirect.`,
    table(
      ['`error`', 'Status', 'Common causes'],
      [
        [
          '`invalid_client`',
          '401',
          'the secret is wrong or sent with the wrong authentication method, or the client is disabled or deleted',
        ],
        [
          '`invalid_grant`',
          '400',
          'the code or refresh token is unknown, expired, used, or belongs to another client or redirect URI; the session has ended; the `code_verifier` is wrong',
        ],
        [
          '`invalid_request`',
          '400',
          'a parameter is missing, repeated or not allowed; a public client sent no `code_challenge`',
        ],
        ['`invalid_scope`', '400', 'the client, the grant or the user does not have a requested scope'],
        ['`invalid_target`', '400', 'the client cannot request this `resource` or `audience`'],
        ['`unauthorized_client`', '400', 'the client cannot use this grant type'],
        ['`access_denied`', 'redirect', 'the user denied consent'],
        ['`login_required`, `consent_required`', 'redirect', '`prompt=none`, and user interaction is required'],
        ['`invalid_token`', '401', 'at `/userinfo` and `/session`: the access token is invalid, expired or revoked'],
      ],
    ),
  )
}

function events(): string {
  const rows = Object.entries(eventCatalog) as [string, string][]
  const groups = groupBy(rows, ([type]) => type.split('.')[0]!)
  return page(
    '# Events',
    generatedNote,
    `${rows.length} types. Each event is recorded in the transaction of its change. Read events at
\`/v1/accounts/{account_id}/events\`, stream them with the subscription \`eventAdded\`, or receive them by webhook; the
\`event_types\` of webhooks and of the filter are these types. An event has \`id\`, \`type\`, \`created_at\`, \`account_id\`,
\`issuer_id\`, \`org_id\`, \`user_id\`, \`client_id\`, \`agent_id\`, \`session_id\`, \`auth_type\`, \`actor\`, \`target\`, \`context\`
(IP address, user agent, request), \`data\` and \`changes\`. Events never contain secrets.`,
    '## Fields',
    `\`changes\` contains \`{"old", "new"}\` for each changed field of the \`target\`, under its name in \`/v1\`. For these fields it
contains only \`"changed"\`, without values:`,
    table(
      ['`target.type`', 'Fields'],
      Object.entries(hiddenFields).map(([kind, names]) => [code(kind), Object.keys(names).map(code).join(', ')]),
    ),
    `For the \`url\` of a webhook, events contain only the origin; a change of the path is \`"changed"\`. \`data\` contains fields
of the target and these fields:`,
    table(
      ['Type', 'Name', 'Description'],
      Object.entries(eventDataFields).flatMap(([type, all]) =>
        Object.entries(all).map(([name, meaning]) => [code(type), code(name), meaning]),
      ),
    ),
    ...groups.flatMap(([name, types]) => [
      `## ${code(name)}`,
      table(
        ['Type', 'Description'],
        types.map(([type, meaning]) => [code(type), meaning]),
      ),
    ]),
    '## Reasons',
    'The values of `data.reason`. For `session.terminated` it is the `revocation_reason` of the session.',
    table(
      ['Type', 'Reason', 'Meaning'],
      Object.entries(eventReasons).flatMap(([type, all]) =>
        Object.entries(all).map(([reason, meaning]) => [code(type), code(reason), meaning]),
      ),
    ),
  )
}

/** Returns the scopes that the routes of `/v1` and the root fields of GraphQL require. */
function scopeRequirements(): { scope: string; route: string | undefined; field: string }[] {
  const operations = [...readOperations('rest').values()]
  const roots = [schema().getQueryType(), schema().getMutationType(), schema().getSubscriptionType()].flatMap((type) =>
    Object.values(type?.getFields() ?? {}),
  )
  return roots.flatMap((field) => {
    const { scope, additionalScope } = requiredPermissionOf(field) ?? {}
    const names = operations.filter((operation) => operation.field === field).map(({ name }) => name)
    const route = routes.find(({ operation }) => names.includes(operation))
    const shown = route?.path
      .replace('/v1/accounts/{account_id}', 'A')
      .replace('A/issuers/{issuer_id}', 'I')
      .replace('I/organizations/{org_id}', 'O')
    const requirement = { field: field.name, route: route && `${route.method} ${shown}` }
    return [scope, additionalScope].flatMap((name) => (name === undefined ? [] : [{ scope: name, ...requirement }]))
  })
}

function scopes(): string {
  const all = scopeRequirements()
  return page(
    '# Scopes',
    generatedNote,
    `Platform scopes are the permissions of a credential at the Core API: a resource, a colon and one of
${scopeActions.map(code).join(', ')}. \`manage\` includes the other three actions of its resource, ${code(ALL_SCOPES)} includes every scope.
A scope does not include nested resources: \`issuers:read\` does not allow reading users. An API key without \`scopes\` has
every scope in its account. A caller cannot grant scopes that it does not have. Other scopes are custom scopes of your
applications: tokens contain them, but they allow nothing at the Core API. A field listed under two scopes requires both.`,
    `\`A\` is \`/v1/accounts/{account_id}\`, \`I\` is \`A/issuers/{issuer_id}\`, \`O\` is \`I/organizations/{org_id}\`. Rows
without a route are available only in GraphQL.`,
    ...Object.entries(scopeResources).flatMap(([stem, meaning]) => {
      const rows = scopeActions
        .flatMap((action) => all.filter(({ scope }) => scope === `${stem}:${action}`))
        .map(({ scope, route, field }) => [code(scope), route ? code(route) : '', code(field)])
      return [
        `## ${code(stem)}`,
        `${meaning[0]!.toUpperCase()}${meaning.slice(1)}.`,
        table(['Scope', '`/v1`', 'GraphQL'], rows),
      ]
    }),
  )
}

function configuration(): string {
  const groups = groupBy(Object.entries(settings), ([, { section }]) => section)
  return page(
    '# Configuration',
    generatedNote,
    `Settings are environment variables. If one is invalid or missing, Gatehouse does not start and prints all problems with
their solutions. Settings marked * can also be in a file whose path is in \`NAME_FILE\`.`,
    ...groups.flatMap(([section, rows]) => [
      `## ${section}`,
      table(
        ['Variable', 'Default', 'Description'],
        rows.map(([name, row]) => [
          `${code(name)}${'secret' in row ? ' *' : ''}`,
          'fallback' in row ? code(row.fallback) : row.without,
          row.meaning,
        ]),
      ),
    ]),
    '## Rate limits',
    `\`RATE_LIMITS\` overrides these limits. Each is a token bucket of \`quota\` requests that refills within \`window\` seconds.
Responses contain the remaining requests (\`RateLimit\`, \`X-RateLimit-*\`); a refused request gets 429 with \`Retry-After\`.`,
    table(
      ['Name', 'Requests', 'Seconds', 'What is counted'],
      Object.entries(rateLimitTable).map(([name, { quota, window, counts }]) => [
        code(name),
        String(quota),
        String(window),
        counts,
      ]),
    ),
  )
}

const scopesOfFacts = (factNames: readonly string[]): string =>
  factNames
    .map((name) => Object.entries({ ...issuerFacts, ...accountFacts }).find(([fact]) => fact === name)![1].scope)
    .map(code)
    .join(', ')

function health(): string {
  const sections = { Issuers: issuerFindings, Accounts: accountFindings }
  return page(
    '# Health',
    generatedNote,
    `A finding is a problem of the configuration that an administrator should act on. \`issuer { health { code severity
message fix path } }\` and \`account { health { … } }\` in GraphQL return the findings of an issuer or account, errors
first, at most ${limits.maxFindingsPerCode} of each code. The console shows them on the overview of the issuer or account and again at the setting.
\`gatehouse doctor\` prints those of all accounts and issuers; with \`--json\` each also has \`account_id\` and \`issuer_id\`.`,
    `\`path\` is the setting or object, relative to the issuer or account and in the names of \`/v1\`:
\`settings.security.mfa_required\`, \`auth_methods/{id}\`, \`clients/{id}\`, \`webhooks/{id}\`, \`domains/{domain}\`. Reading
\`health\` needs \`issuers:read\` or \`accounts:read\`; a finding is left out where the caller lacks a scope that its facts
need.`,
    table(
      ['Severity', 'Meaning', 'Effect on `gatehouse doctor`'],
      Object.entries(severities).map(([name, meaning]) => [
        code(name),
        meaning,
        name === 'ERROR' ? 'exit code 1' : 'none',
      ]),
    ),
    ...Object.entries(sections).flatMap(([title, rows]) => [
      `## ${title}`,
      ...Object.entries(rows).flatMap(([name, { severity, when, reads, example }]) => [
        `### ${name}`,
        table(
          ['Severity', 'Path', 'Scopes'],
          [[code(severity satisfies Severity), code(example.path), scopesOfFacts(reads)]],
        ),
        `Reported when ${when}.`,
        `> ${example.message}`,
        `**Fix:** ${example.fix}`,
      ]),
    ]),
  )
}

const durationUnits: [name: string, length: number][] = [
  ['days', DAY],
  ['h', HOUR],
  ['min', MINUTE],
  ['s', SECOND],
  ['ms', 1],
]

/** A duration in the largest unit that needs no fraction, such as `15 s`. */
function formatDuration(milliseconds: number): string {
  const [name, length] = durationUnits.find(([, length]) => milliseconds % length === 0)!
  const count = milliseconds / length
  return `${count.toLocaleString('en-US')} ${count === 1 ? name.replace('days', 'day') : name}`
}

const sizeUnits: [name: string, size: number][] = [
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
  ['MB', 1e6],
  ['bytes', 1],
]

/** A size in the largest unit that needs no fraction, such as `64 KiB`. */
function formatSize(bytes: number): string {
  const [name, size] = sizeUnits.find(([, size]) => bytes >= 1024 && bytes % size === 0) ?? ['bytes', 1]
  return `${(bytes / size).toLocaleString('en-US')} ${name}`
}

function formatLimit({ value, unit }: Limit): string {
  if (unit === 'milliseconds') return formatDuration(value)
  if (unit === 'seconds') return formatDuration(value * SECOND)
  if (unit === 'bytes') return formatSize(value)
  if (unit === 'kibibytes') return formatSize(value * 1024)
  if (unit === 'Unix milliseconds') return new Date(value).toISOString()
  const number = value.toLocaleString('en-US')
  return unit === 'items' || unit === 'number' ? number : `${number} ${unit}`
}

function limitsPage(): string {
  return page(
    '# Limits',
    generatedNote,
    `Every limit and timeout of Gatehouse, in the order of \`src/kernel/limits.ts\`. They are part of the program and cannot
be configured. Settings that can are in [Configuration](configuration.md), with the
[rate limits](configuration.md#rate-limits); [the contract](../contract.md#limits) names the limits that clients can
rely on.`,
    ...Object.entries<Record<string, Limit>>(limitTable).flatMap(([section, rows]) => [
      `## ${section}`,
      table(
        ['Name', 'Value', 'Meaning'],
        Object.entries(rows).map(([name, limit]) => [code(name), formatLimit(limit), limit.meaning]),
      ),
    ]),
  )
}

/** The pages by file name. */
export const pages = (): Record<string, string> => ({
  'errors.md': errors(),
  'events.md': events(),
  'scopes.md': scopes(),
  'configuration.md': configuration(),
  'health.md': health(),
  'limits.md': limitsPage(),
})

if (import.meta.filename === process.argv[1]) {
  await import('reflect-metadata')
  mkdirSync(referenceFolder, { recursive: true })
  for (const [name, text] of Object.entries(pages())) writeFileSync(join(referenceFolder, name), text)
}
