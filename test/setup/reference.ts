/**
 * `npm run reference` prints docs/reference from the tables of the code: errors, events, scopes, settings,
 * findings of health. A test fails when a page is not what this would print.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defaultRateLimits, type LimitName } from '../../src/config.js'
import { demandOf } from '../../src/graphql/demands.js'
import { readOperations } from '../../src/graphql/operations.js'
import { schema } from '../../src/graphql/schema.js'
import { errorTable } from '../../src/kernel/errors.js'
import { ALL, actions, stems } from '../../src/kernel/scopes.js'
import { packageRoot } from '../../src/platform/package-root.js'
import { catalogue, facts, reasons } from '../../src/resources/events/catalogue.js'
import { hidden } from '../../src/resources/events/names.js'
import { accountFacts, issuerFacts } from '../../src/resources/health/facts.js'
import { MAX_OF_A_CODE, type Severity, severities } from '../../src/resources/health/finding.js'
import { accountFindings, issuerFindings } from '../../src/resources/health/findings.js'
import { routes } from '../../src/rest/routes.js'
import { rateLimitMeanings, settings } from '../../src/settings.js'

export const folder = join(packageRoot, 'docs/reference')

const note = '<!-- Printed from the code by `npm run reference`; change the table there, not this page. -->'

/** A Markdown table, its columns as wide as their widest cell. */
function table(head: string[], rows: string[][]): string {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', '\\|')))
  const widths = head.map((_, at) => Math.max(...cells.map((row) => row[at]!.length)))
  const line = (row: string[]) => `| ${row.map((cell, at) => cell.padEnd(widths[at]!)).join(' | ')} |`
  return [line(cells[0]!), line(widths.map((width) => '-'.repeat(width))), ...cells.slice(1).map(line)].join('\n')
}

const code = (text: string): string => `\`${text}\``
const page = (...parts: string[]): string => `${parts.join('\n\n')}\n`
const groupBy = <T>(list: T[], key: (one: T) => string): [string, T[]][] => {
  const groups = new Map<string, T[]>()
  for (const one of list) groups.set(key(one), [...(groups.get(key(one)) ?? []), one])
  return [...groups]
}

function errors(): string {
  const rows = Object.entries(errorTable).map(([name, { status, meaning }]) => [code(name), String(status), meaning])
  return page(
    '# Errors',
    note,
    '## Administration: `/v1` and GraphQL',
    `Every error of \`/v1\` has this body; \`details\` is there when the input was at fault, one entry per error.
GraphQL has the same in \`extensions\`: \`code\` (in capitals), \`status\`, \`details\`, and \`scope\`, the scope that is missing.
\`field\` is a path in the body, a parameter, or a header as it is written (\`If-Match\`).`,
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
    `What is 429, 502 or 503 may be tried again after \`Retry-After\`, with the same \`Idempotency-Key\` where there is one. A
4xx that is none of these stays as it is until the request changes.`,
    '## Signing in: the OAuth endpoints',
    `\`{"error", "error_description"}\` as RFC 6749 section 5.2 has it, with \`Cache-Control: no-store\`; at \`/authorize\` as
parameters of the redirect, with \`state\` and \`iss\`. A wrong \`client_id\` or \`redirect_uri\` gets a page and never a
redirect.`,
    table(
      ['`error`', 'Status', 'Most often means'],
      [
        ['`invalid_client`', '401', 'the secret is wrong or sent in the wrong way, or the client is disabled or gone'],
        [
          '`invalid_grant`',
          '400',
          'the code or refresh token is unknown, expired, used, or of another client or redirect URI; the session has ended; a wrong `code_verifier`',
        ],
        [
          '`invalid_request`',
          '400',
          'a parameter is missing, repeated or not allowed; a public client without `code_challenge`',
        ],
        ['`invalid_scope`', '400', 'a scope that the client, the grant or the user does not have'],
        ['`invalid_target`', '400', 'a `resource` or `audience` that the client may not ask for'],
        ['`unauthorized_client`', '400', 'the client may not use this grant'],
        ['`access_denied`', 'redirect', 'the person did not agree'],
        ['`login_required`, `consent_required`', 'redirect', '`prompt=none`, and somebody would have to be asked'],
        ['`invalid_token`', '401', 'at `/userinfo` and `/session`: the access token is not in force'],
      ],
    ),
  )
}

function events(): string {
  const rows = Object.entries(catalogue) as [string, string][]
  const groups = groupBy(rows, ([type]) => type.split('.')[0]!)
  return page(
    '# Events',
    note,
    `${rows.length} types. Each is written by the transaction of the change that it tells of, can be read at
\`/v1/accounts/{account_id}/events\`, streamed by the subscription \`eventAdded\`, and sent by webhooks; a webhook's
\`event_types\` and the filter \`event_types\` take these names. An event has \`id\`, \`type\`, \`created_at\`, \`account_id\`,
\`issuer_id\`, \`org_id\`, \`user_id\`, \`client_id\`, \`agent_id\`, \`session_id\`, \`auth_type\`, \`actor\`, \`target\`, \`context\`
(address, user agent, request), \`data\` and \`changes\`. Never a secret.`,
    '## Names',
    `\`changes\` has \`{"old", "new"}\` for each field that changed, under the name that \`/v1\` gives the field of the \`target\`.
These are only said to be \`"changed"\`, without a value:`,
    table(
      ['`target.type`', 'Fields'],
      Object.entries(hidden).map(([kind, names]) => [code(kind), Object.keys(names).map(code).join(', ')]),
    ),
    `Of the \`url\` of a webhook events have the origin; another path under the same origin is \`"changed"\`. \`data\` has fields
of the target as well, and these facts:`,
    table(
      ['Type', 'Name', 'Meaning'],
      Object.entries(facts).flatMap(([type, all]) =>
        Object.entries(all).map(([name, meaning]) => [code(type), code(name), meaning]),
      ),
    ),
    ...groups.flatMap(([name, types]) => [
      `## ${code(name)}`,
      table(
        ['Type', 'What happened'],
        types.map(([type, meaning]) => [code(type), meaning]),
      ),
    ]),
    '## Reasons',
    'Values of `data.reason`. Of `session.terminated` it is the `revocation_reason` of the session.',
    table(
      ['Type', 'Reason', 'Meaning'],
      Object.entries(reasons).flatMap(([type, all]) =>
        Object.entries(all).map(([reason, meaning]) => [code(type), code(reason), meaning]),
      ),
    ),
  )
}

/** What needs which scope: the routes of `/v1`, and the root fields of GraphQL. */
function needs(): { scope: string; route: string | undefined; field: string }[] {
  const operations = [...readOperations('rest').values()]
  const roots = [schema().getQueryType(), schema().getMutationType(), schema().getSubscriptionType()].flatMap((type) =>
    Object.values(type?.getFields() ?? {}),
  )
  return roots.flatMap((field) => {
    const { scope, andScope } = demandOf(field) ?? {}
    const names = operations.filter((operation) => operation.field === field).map(({ name }) => name)
    const route = routes.find(({ operation }) => names.includes(operation))
    const shown = route?.path
      .replace('/v1/accounts/{account_id}', 'A')
      .replace('A/issuers/{issuer_id}', 'I')
      .replace('I/organizations/{org_id}', 'O')
    const told = { field: field.name, route: route && `${route.method} ${shown}` }
    return [scope, andScope].flatMap((one) => (one === undefined ? [] : [{ scope: one, ...told }]))
  })
}

function scopes(): string {
  const all = needs()
  return page(
    '# Scopes',
    note,
    `Scopes say what a credential may do in administration: a stem, a colon and one of ${actions.map(code).join(', ')}.
\`manage\` stands for the other three of its stem, ${code(ALL)} for everything. A stem does not imply those below it:
\`issuers:read\` reads no users. A key without \`scopes\` may do everything in its account; nobody can grant what they lack.
A scope that is not here is a word of your own: it goes into tokens and opens nothing in Gatehouse.
A field that stands under two scopes needs both.`,
    `\`A\` is \`/v1/accounts/{account_id}\`, \`I\` is \`A/issuers/{issuer_id}\`, \`O\` is \`I/organizations/{org_id}\`. What has no
route is GraphQL only.`,
    ...Object.entries(stems).flatMap(([stem, meaning]) => {
      const rows = actions
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
  const limits = Object.entries(defaultRateLimits) as [LimitName, { quota: number; window: number }][]
  return page(
    '# Configuration',
    note,
    `Settings are environment variables. A wrong or missing one stops the start with one message that lists all problems,
each with its fix. Those marked * can also be given in a file named by \`NAME_FILE\`.`,
    ...groups.flatMap(([section, rows]) => [
      `## ${section}`,
      table(
        ['Variable', 'Default', 'Meaning'],
        rows.map(([name, row]) => [`${code(name)}${'secret' in row ? ' *' : ''}`, row.value, row.meaning]),
      ),
    ]),
    '## Rate limits',
    `\`RATE_LIMITS\` changes those that it names: a bucket of \`quota\` requests that fills again within \`window\` seconds. Answers
say what is left (\`RateLimit\`, \`X-RateLimit-*\`); a refused one is 429 with \`Retry-After\`.`,
    table(
      ['Name', 'Requests', 'Seconds', 'What is counted'],
      limits.map(([name, { quota, window }]) => [code(name), String(quota), String(window), rateLimitMeanings[name]]),
    ),
  )
}

const scopesOf = (reads: readonly string[]): string =>
  reads
    .map((name) => Object.entries({ ...issuerFacts, ...accountFacts }).find(([fact]) => fact === name)![1].scope)
    .map(code)
    .join(', ')

function health(): string {
  const sections = { Issuers: issuerFindings, Accounts: accountFindings }
  return page(
    '# Health',
    note,
    `A finding is a problem of the configuration that an administrator should act on. \`issuer { health { code severity
message fix path } }\` and \`account { health { … } }\` in GraphQL answer the findings of one issuer or account, errors
first, at most ${MAX_OF_A_CODE} of each code. The console shows them on the overview of the issuer or account and again at the setting.
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
          [[code(severity satisfies Severity), code(example.path), scopesOf(reads)]],
        ),
        `Reported when ${when}.`,
        `> ${example.message}`,
        `**Fix:** ${example.fix}`,
      ]),
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
})

if (import.meta.filename === process.argv[1]) {
  await import('reflect-metadata')
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(pages())) writeFileSync(join(folder, name), text)
}
