/** Generates the HTML page of the REST reference from the OpenAPI document. */
import { Html, html } from '../../kernel/html.js'
import { htmlDocument } from '../../platform/http/html-page.js'
import type { Json } from '../openapi-schemas.js'
import { exampleOf, noteOf, type Row, rowsOf, typeText } from './schemas.js'

interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  description?: string
  schema: Json
}

interface Operation {
  operationId: string
  summary: string
  description: string
  tags: string[]
  parameters: Parameter[]
  requestBody?: { required: boolean; content: Record<string, { schema: Json }> }
  responses: Record<string, { description: string; content?: Record<string, { schema: Json }> }>
}

interface OperationEntry extends Operation {
  method: string
  path: string
}

const JSON_TYPE = 'application/json'

/** Converts a tag such as `auth-methods` to a heading. */
const titleOf = (tag: string): string => {
  const words = tag.replaceAll('-', ' ').replace('api', 'API')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Converts Markdown code spans to `<code>`. */
const formatInlineCode = (text: string): Html[] =>
  text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))

const table = (head: string, rows: readonly Row[]): Html | false =>
  rows.length > 0 &&
  html`<h4>${head}</h4><table><thead><tr><th scope="col">Name</th><th scope="col">Type</th><th scope="col">Description</th></tr></thead><tbody>${rows.map(
    ({ name, type, required, note }) =>
      html`<tr><th scope="row"><code>${name}</code>${required && html`<span class="need">required</span>`}</th><td>${type}</td><td>${note}</td></tr>`,
  )}</tbody></table>`

const codeBlock = (title: string, text: string): Html =>
  html`<figure><figcaption>${title}<button type="button" data-copy data-with-script hidden aria-label="Copy ${title}">Copy</button></figcaption><pre tabindex="0" aria-label="${title}"><code>${text}</code></pre></figure>`

const parameterRows = (parameters: readonly Parameter[], location: Parameter['in']): Row[] =>
  parameters
    .filter((parameter) => parameter.in === location)
    .map(({ name, required, description, schema }) => ({
      name,
      type: typeText(schema),
      required,
      note: [description, noteOf(schema)].filter(Boolean).join(' '),
    }))

/** Returns a curl command for the operation, in which path parameters and the API key are shell variables. */
function curl(baseUrl: string, { method, path, requestBody }: OperationEntry): string {
  const url = baseUrl + path.replace(/\{(\w+)\}/g, (_, name: string) => `$${name.toUpperCase()}`)
  const schema = requestBody?.content[JSON_TYPE]?.schema
  const body = schema && JSON.stringify(exampleOf(schema, false)).replaceAll("'", "'\\''")
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}-u "$API_KEY" "${url}"`,
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d '${body}'`]),
  ].join(' \\\n  ')
}

function operationSection(baseUrl: string, entry: OperationEntry): Html {
  const { method, path, operationId, summary, description, tags, parameters, requestBody, responses } = entry
  const [success, ...errors] = Object.entries(responses)
  const responseSchema = success?.[1].content?.[JSON_TYPE]?.schema
  const requestSchema = requestBody?.content[JSON_TYPE]?.schema
  const text = [method, path, operationId, summary, ...tags].join(' ').toLowerCase()
  return html`<details class="op" id="${operationId}" data-text="${text}"><summary><span class="method" data-m="${method}">${method}</span><h3>${summary}</h3><code>${path}</code></summary><div class="body"><p class="soft">${formatInlineCode(description)}</p>
${table('Path parameters', parameterRows(parameters, 'path'))}${table('Query parameters', parameterRows(parameters, 'query'))}${table('Headers', parameterRows(parameters, 'header'))}${requestSchema && table('Body', rowsOf(requestSchema))}
<div class="two"><div><h4>Example</h4>${codeBlock('curl', curl(baseUrl, entry))}</div>
<div><h4>Response ${success?.[0]}</h4>${responseSchema ? codeBlock('JSON', JSON.stringify(exampleOf(responseSchema, true), null, 2)) : html`<p class="soft">${success?.[1].description}</p>`}</div></div>
<h4>Errors</h4><ul class="errors">${errors.map(([status, { description: why }]) => html`<li><code>${status}</code>${why}</li>`)}</ul></div></details>`
}

/**
 * Returns the HTML of the reference page.
 * @param document the OpenAPI document
 * @param inline the content of the script and style elements
 */
export function referencePage(document: Json, inline: { script: string; style: string }): string {
  const [{ url: baseUrl } = { url: '' }] = document['servers'] as { url: string }[]
  const entries = Object.entries(document['paths'] as Record<string, Record<string, Operation>>).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(
        ([method, operation]): OperationEntry => ({ ...operation, path, method: method.toUpperCase() }),
      ),
  )
  const tags = [...new Set(entries.map((entry) => entry.tags[0] ?? ''))]
  const entriesOf = (tag: string) => entries.filter((entry) => entry.tags[0] === tag)
  const body = html`<a class="skip" href="#content">Skip to the operations</a>
<header><b>Gatehouse REST reference</b><nav aria-label="Gatehouse"><a href="/console">Console</a><a href="/playground">GraphQL playground</a><a href="/openapi.json">openapi.json</a></nav>
<div class="search" role="search" data-with-script hidden><input id="search" type="search" placeholder="Search operations" aria-label="Search operations" autocomplete="off" spellcheck="false"><kbd aria-hidden="true">/</kbd></div></header>
<div class="frame"><aside><nav aria-label="Resources"><ul>${tags.map((tag) => html`<li><a href="#of-${tag}">${titleOf(tag)}<span>${entriesOf(tag).length}</span></a></li>`)}</ul></nav></aside>
<main id="content" tabindex="-1"><h1>Core API</h1>
<p class="lead">This page lists the operations of <code>${baseUrl}/v1</code>. Each operation is also available in GraphQL. Send an API key as <code>-u "$API_KEY"</code> (<code>ak_…:secret</code>) or an access token as <code>Authorization: Bearer …</code>.</p>
<p class="lead">Lists return <code>data</code>, <code>next_cursor</code> and <code>has_more</code>. Send the <code>ETag</code> of a resource as <code>If-Match</code> when you update or delete it, and an <code>Idempotency-Key</code> with POST requests that you may retry. Times are Unix milliseconds.</p>
<p class="count" id="count" role="status">${entries.length} operations</p>
${tags.map((tag) => html`<section id="of-${tag}" aria-labelledby="name-of-${tag}"><h2 id="name-of-${tag}">${titleOf(tag)}</h2>${entriesOf(tag).map((entry) => operationSection(baseUrl, entry))}</section>`)}</main></div>`
  return htmlDocument({
    title: 'REST reference – Gatehouse',
    style: inline.style,
    body: html`${body}<script>${new Html(inline.script)}</script>`,
  })
}
