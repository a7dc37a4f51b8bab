/** Complete requests of an operation in shell, JavaScript and Python. Values that differ are environment variables. */
import { type ApiDocument, type Entry, type Parameter, resolve } from './document.js'

export interface Sample {
  language: string
  text: string
}

interface SampleRequest {
  method: string
  /** The URL in which `variable` has formatted the path parameters. */
  url(variable: (name: string) => string): string
  /** Names and values of the query. A value is a literal or the name of a variable. */
  query: [name: string, value: { literal: string } | { variable: string }][]
  /** Headers whose value is a variable. */
  headers: [name: string, variable: string][]
  /** True for operations that can be repeated with an Idempotency-Key. */
  hasKey: boolean
  /** Undefined without a body. */
  body: unknown
  /** True if the response has a JSON body. */
  returnsJson: boolean
}

/** Converts the name of a parameter or header to the name of an environment variable. */
const variableName = (name: string): string => name.toUpperCase().replaceAll('-', '_')

/**
 * Returns the samples of an operation.
 * @param body the example of the request body; undefined if there is none
 */
export function samplesOf(document: ApiDocument, entry: Entry, body: unknown): Sample[] {
  const baseUrl = document.servers[0]!.url
  const hasHeader = (name: string) => entry.parameters.some((one) => one.in === 'header' && one.name === name)
  const request: SampleRequest = {
    method: entry.method,
    url: (variable) => baseUrl + entry.path.replace(/\{(\w+)\}/g, (_, name: string) => variable(variableName(name))),
    query: entry.parameters.filter((one) => one.in === 'query').flatMap((one) => sampleQuery(document, one)),
    headers: [
      ...(hasHeader('If-Match') ? [['If-Match', 'ETAG'] as [string, string]] : []),
      ...(hasHeader('PAYMENT-SIGNATURE') ? [['PAYMENT-SIGNATURE', 'PAYMENT_SIGNATURE'] as [string, string]] : []),
    ],
    hasKey: hasHeader('Idempotency-Key'),
    body,
    returnsJson: Object.values(entry.responses)[0]!.content !== undefined,
  }
  return [
    { language: 'curl', text: shell(request) },
    { language: 'JavaScript', text: javascript(request) },
    { language: 'Python', text: python(request) },
  ]
}

/** Samples contain the required parameters and the page size of lists. */
function sampleQuery(document: ApiDocument, { name, required, schema }: Parameter): SampleRequest['query'] {
  if (name === 'limit') return [[name, { literal: '20' }]]
  if (!required) return []
  const [value] = resolve(document, schema).enum ?? []
  return [[name, value !== undefined ? { literal: String(value) } : { variable: variableName(name) }]]
}

/** Returns the query string, in which `variable` has formatted the variables. */
const queryString = ({ query }: SampleRequest, variable: (name: string) => string): string =>
  query
    .map(([name, value]) => `${name}=${'literal' in value ? value.literal : variable(value.variable)}`)
    .map((pair, index) => (index === 0 ? '?' : '&') + pair)
    .join('')

function shell(request: SampleRequest): string {
  const { method, url, headers, hasKey, body } = request
  const variable = (name: string) => `$${name}`
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"${url(variable)}${queryString(request, variable)}"`,
    '-u "$API_KEY"',
    ...headers.map(([name, value]) => `-H "${name}: $${value}"`),
    ...(hasKey ? ['-H "Idempotency-Key: $(openssl rand -hex 16)"'] : []),
    ...(body === undefined
      ? []
      : [
          `-H 'Content-Type: application/json'`,
          `-d '${JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`)}'`,
        ]),
  ].join(' \\\n  ')
}

function javascript(request: SampleRequest): string {
  const { method, url, headers, hasKey, body, returnsJson } = request
  const variable = (name: string) => `\${env.${name}}`
  const lines = [
    ...(method === 'GET' ? [] : [`method: '${method}',`]),
    'headers: {',
    "  Authorization: 'Basic ' + btoa(env.API_KEY),",
    ...headers.map(([name, value]) => `  '${name}': env.${value},`),
    ...(hasKey ? [`  'Idempotency-Key': crypto.randomUUID(),`] : []),
    ...(body === undefined ? [] : [`  'Content-Type': 'application/json',`]),
    '},',
    ...(body === undefined ? [] : `body: JSON.stringify(${JSON.stringify(body, null, 2)}),`.split('\n')),
  ]
  return `const { env } = process
const response = await fetch(\`${url(variable)}${queryString(request, variable)}\`, {
${lines.map((line) => `  ${line}`).join('\n')}
})
if (!response.ok) throw new Error(await response.text())
console.log(${returnsJson ? 'await response.json()' : 'response.status'})`
}

function python(request: SampleRequest): string {
  const { method, url, query, headers, hasKey, body, returnsJson } = request
  const isTemplate = url((name) => `{${name}}`) !== url((name) => name)
  const allHeaders = [
    ...headers.map(([name, value]) => `"${name}": env["${value}"]`),
    ...(hasKey ? ['"Idempotency-Key": str(uuid.uuid4())'] : []),
  ]
  const params = query.map(
    ([name, value]) => `"${name}": ${'literal' in value ? JSON.stringify(value.literal) : `env["${value.variable}"]`}`,
  )
  const lines = [
    `${isTemplate ? 'f' : ''}"${url((name) => `{env['${name}']}`)}",`,
    'auth=tuple(env["API_KEY"].split(":", 1)),',
    ...(params.length > 0 ? [`params={${params.join(', ')}},`] : []),
    ...(allHeaders.length > 0 ? [`headers={${allHeaders.join(', ')}},`] : []),
    ...(body === undefined ? [] : `json=${pythonLiteral(body)},`.split('\n')),
  ]
  return `${hasKey ? 'import uuid\n' : ''}from os import environ as env

import requests

response = requests.${method.toLowerCase()}(
${lines.map((line) => `    ${line}`).join('\n')}
)
response.raise_for_status()
print(${returnsJson ? 'response.json()' : 'response.status_code'})`
}

/** Returns a JSON value as a Python literal. Strings are equal in both languages. */
function pythonLiteral(value: unknown, indent = ''): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value !== 'object') return JSON.stringify(value)
  const isList = Array.isArray(value)
  const parts = Object.entries(value).map(([name, part]) => {
    const text = pythonLiteral(part, `${indent}    `)
    return `\n${indent}    ${isList ? '' : `${JSON.stringify(name)}: `}${text},`
  })
  const [open, close] = isList ? ['[', ']'] : ['{', '}']
  return parts.length === 0 ? open + close : `${open}${parts.join('')}\n${indent}${close}`
}
