/** Generates the HTML page of the REST reference from the OpenAPI document. */
import { errorTable } from '../../kernel/errors.js'
import { Html, html } from '../../kernel/html.js'
import { htmlDocument } from '../../platform/http/html-page.js'
import { type ApiDocument, type Entry, entriesOf, entryOfPage, JSON_TYPE, nameOf } from './document.js'
import { fieldTables, formatInlineCode, schemaLink } from './fields.js'
import { isCommonHeader, operationSection } from './operation.js'

/** Converts a tag such as `Payment methods` to the id of its section. */
const sectionId = (tag: string): string => `of-${tag.toLowerCase().replaceAll(' ', '-')}`

const menuLink = (id: string, title: string, count?: number): Html =>
  html`<li><a href="#${id}">${title}${count !== undefined && html`<span>${count}</span>`}</a></li>`

const guide = (baseUrl: string, operationCount: number): Html => html`<h1>REST API</h1>
<p class="lead">The ${operationCount} operations of <code>${baseUrl}/v1</code>. Each is also a query or mutation of the <a href="/playground">GraphQL API</a>.</p>
<section class="guide" aria-label="Conventions"><dl>
<div id="authentication"><dt>Authentication</dt><dd>Send an API key as HTTP Basic credentials (<code>-u "$API_KEY"</code>, with <code>API_KEY=ak_…:secret</code>), or an access token in the header <code>Authorization: Bearer</code>.</dd></div>
<div id="lists"><dt>Lists</dt><dd>A page has <code>data</code>, <code>next_cursor</code> and <code>has_more</code>. Send <code>next_cursor</code> as <code>cursor</code> to read the next page.</dd></div>
<div id="versions"><dt>Versions</dt><dd>Send the <code>ETag</code> of a resource as <code>If-Match</code> when you change it. The response is 412 if it has changed since.</dd></div>
<div id="retries"><dt>Retries</dt><dd>Send an <code>Idempotency-Key</code> with a POST request. A retry with the same key returns the first response.</dd></div>
<div id="times"><dt>Times</dt><dd>Unix time in milliseconds, UTC.</dd></div>
<div id="samples"><dt>Samples</dt><dd>The samples read <code>API_KEY</code>, the ids of the path and <code>ETAG</code> from environment variables.</dd></div></dl></section>`

function tagSection(
  document: ApiDocument,
  entries: readonly Entry[],
  { name, description }: ApiDocument['tags'][number],
): Html {
  const id = sectionId(name)
  return html`<section id="${id}" aria-labelledby="${id}-name"><h2 id="${id}-name">${name}</h2><p class="lead">${formatInlineCode(description)}</p>${entries.map((entry) => operationSection(document, entry))}</section>`
}

function errorSection(): Html {
  const rows: [status: number, code: string, meaning: string][] = [
    [304, '', 'The resource has a version in `If-None-Match`. The response has no body.'],
    [
      422,
      'invalid_request',
      'The `Idempotency-Key` was used for another request, or the state of the resource does not allow the operation.',
    ],
  ]
  for (const [code, { status, meaning }] of Object.entries(errorTable)) rows.push([status, code, meaning])
  rows.sort(([left], [right]) => left - right)
  const isFirst = (status: number, at: number) => rows.findIndex(([other]) => other === status) === at
  return html`<section id="errors" aria-labelledby="errors-name"><h2 id="errors-name">Errors</h2><p class="lead">The body of an error is ${schemaLink('ErrorResponse')}: a stable code in <code>error</code>, and in <code>details</code> the invalid fields.</p>
<div class="card"><table aria-labelledby="errors-name"><thead><tr><th scope="col">Status</th><th scope="col">Code</th><th scope="col">Meaning</th></tr></thead><tbody>${rows.map(([status, code, meaning], at) => html`<tr${isFirst(status, at) && html` id="status-${status}"`}><th scope="row">${status}</th><td><code>${code}</code></td><td>${formatInlineCode(meaning)}</td></tr>`)}</tbody></table></div></section>`
}

function headerSection({ components }: ApiDocument): Html {
  const rows = Object.entries(components.headers)
  return html`<section id="headers" aria-labelledby="headers-name"><h2 id="headers-name">Response headers</h2><div class="card"><table aria-labelledby="headers-name"><thead><tr><th scope="col">Name</th><th scope="col">Present</th><th scope="col">Description</th></tr></thead><tbody>${rows.map(
    ([name, { description }]) =>
      html`<tr id="header-${name}"><th scope="row"><code>${name}</code></th><td>${isCommonHeader(name) ? 'always' : 'on some responses'}</td><td>${formatInlineCode(description)}</td></tr>`,
  )}</tbody></table></div></section>`
}

/** Returns the names of the schemas that have a section. Pages of lists and bodies of requests are described elsewhere. */
function listedSchemas(document: ApiDocument, entries: readonly Entry[]): string[] {
  const bodies = entries.map(({ requestBody }) => requestBody && nameOf(requestBody.content[JSON_TYPE].schema))
  const { schemas } = document.components
  const references = JSON.stringify(schemas)
  return Object.entries(schemas)
    .filter(([name, schema]) => {
      const isReferenced = references.includes(`"#/components/schemas/${name}"`)
      return isReferenced || !(bodies.includes(name) || entryOfPage(document, schema))
    })
    .map(([name]) => name)
}

const schemaSection = (document: ApiDocument, names: readonly string[]): Html =>
  html`<section id="schemas" aria-labelledby="schemas-name"><h2 id="schemas-name">Schemas</h2>${names.map((name) => {
    const schema = document.components.schemas[name]!
    const about = schema.description?.split('\n\n- `')[0]
    return html`<details class="op schema" id="schema-${name}" data-text="${name.toLowerCase()}"><summary><h3>${name}</h3></summary><div class="fields">${about && html`<p>${formatInlineCode(about)}</p>`}${fieldTables(document, 'response', schema, name)}</div></details>`
  })}</section>`

/**
 * Returns the HTML of the reference page.
 * @param document the OpenAPI document
 * @param inline the content of the script and style elements
 */
export function referencePage(document: ApiDocument, inline: { script: string; style: string }): string {
  const entries = entriesOf(document)
  const entriesOfTag = (tag: string) => entries.filter((entry) => entry.tags[0] === tag)
  const schemas = listedSchemas(document, entries)
  const body = html`<a class="skip" href="#content">Skip to the operations</a>
<header><b>Gatehouse REST reference</b><nav aria-label="Gatehouse"><a href="/console">Console</a><a href="/playground">GraphQL playground</a><a href="/openapi.json">openapi.json</a></nav>
<div class="search" role="search" data-with-script hidden><input id="search" type="search" placeholder="Search operations and fields" aria-label="Search operations and fields" autocomplete="off" spellcheck="false"><kbd aria-hidden="true">/</kbd></div></header>
<div class="frame"><aside><details open><summary>Contents</summary><nav aria-label="Contents"><ul>${document.tags.map(({ name }) => menuLink(sectionId(name), name, entriesOfTag(name).length))}</ul><ul>${menuLink('errors', 'Errors')}${menuLink('headers', 'Response headers')}${menuLink('schemas', 'Schemas', schemas.length)}</ul></nav></details></aside>
<main id="content" tabindex="-1">${guide(document.servers[0]!.url, entries.length)}
<p class="count" id="count" role="status"></p>
${document.tags.map((tag) => tagSection(document, entriesOfTag(tag.name), tag))}${errorSection()}${headerSection(document)}${schemaSection(document, schemas)}</main></div>
<dialog aria-labelledby="confirm-title"><h2 id="confirm-title"></h2><p></p><div><button type="button" value="">Cancel</button><button type="button" class="danger" value="send"></button></div></dialog>`
  return htmlDocument({
    title: 'REST reference – Gatehouse',
    style: inline.style,
    body: html`${body}<script>${new Html(inline.script)}</script>`,
  })
}
