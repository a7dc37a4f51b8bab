/** Generates the HTML of one operation. */
import { STATUS_CODES } from 'node:http'
import { type Html, html } from '../../kernel/html.js'
import { type ApiDocument, type Entry, entryOfPage, JSON_TYPE, nameOf, resolve, type Schema } from './document.js'
import { requestExample, responseExample } from './examples.js'
import { fieldTables, formatInlineCode, parameterTable, schemaLink, typeOf } from './fields.js'
import { samplesOf } from './samples.js'

/** Operations besides DELETE that end access, invalidate a credential or pay. The page asks before it sends them. */
const needsConfirmation = ({ method, operationId }: Entry): boolean =>
  method === 'DELETE' || /^(revoke|rotate|block|suspend|unassign|decide|createTopup)/.test(operationId)

/** Returns a block of code. The script of the page adds a button that copies it. */
const codeBlock = (title: string, text: string): Html =>
  html`<figure><figcaption>${title}</figcaption><pre><code>${text}</code></pre></figure>`

const formatJson = (value: unknown): string => JSON.stringify(value, null, 2)

/** Returns the section of an operation: a summary that opens, the description, the tables and the examples. */
export function operationSection(document: ApiDocument, entry: Entry): Html {
  const { method, path, operationId, summary, description, tags, parameters, requestBody } = entry
  const request = requestExample(document, entry)
  const response = responseExample(document, entry)
  const body = requestBody?.content[JSON_TYPE].schema
  const text = [method, path, operationId, summary, ...tags].join(' ').toLowerCase()
  return html`<details class="op" id="${operationId}" data-text="${text}" data-method="${method}" data-path="${path}"${needsConfirmation(entry) && html` data-confirm`}><summary><span class="method" data-m="${method}">${method}</span><h3>${summary}</h3><code>${path}</code></summary><div class="body"><div>
<p class="about">${formatInlineCode(description)}</p>
${parameterTable(document, parameters, 'path', 'Path parameters')}${parameterTable(document, parameters, 'query', 'Query parameters')}${parameterTable(document, parameters, 'header', 'Headers')}${body && html`<h4>Body</h4>${fieldTables(document, 'request', body, 'Body')}`}
${responseDescription(document, entry)}</div>
<div><p data-with-script hidden><button type="button" class="primary" data-try aria-expanded="false">Try it</button></p><div class="try" hidden></div>
<div class="samples">${samplesOf(document, entry, request).map((sample) => codeBlock(sample.language, sample.text))}</div>
${request !== undefined && html`<template>${formatJson(request)}</template>`}${response !== undefined && codeBlock(`Response ${Object.keys(entry.responses)[0]}`, formatJson(response))}
<details class="more" data-graphql><summary>GraphQL</summary>${codeBlock('GraphQL', entry['x-graphql'])}<p><a href="/playground">Open in the playground</a></p></details></div></div></details>`
}

function responseDescription(document: ApiDocument, { responses }: Entry): Html {
  const [[status, success], ...others] = Object.entries(responses) as [
    [string, Entry['responses'][string]],
    ...[string, unknown][],
  ]
  const ownHeaders = Object.keys(success.headers ?? {}).filter((name) => !isCommonHeader(name))
  return html`<h4>Response ${status}</h4>${bodyDescription(document, success.content?.[JSON_TYPE].schema)}
<p>Headers: ${ownHeaders.map((name) => html`<a href="#header-${name}"><code>${name}</code></a> and `)}the <a href="#headers">common headers</a>.</p>
<h4>Other responses</h4><p class="statuses">${others.map(([other]) => html`<a href="#status-${other}">${other} ${STATUS_CODES[other]}</a>`)}</p>`
}

/** Returns true for a header that every response has. */
export const isCommonHeader = (name: string): boolean => /^(x-|ratelimit|cache-control)/i.test(name)

function bodyDescription(document: ApiDocument, schema: Schema | undefined): Html {
  if (!schema) return html`<p>No body.</p>`
  const entry = entryOfPage(document, schema)
  if (entry) return html`<p>A <a href="#lists">page</a> of ${typeOf(entry)}.</p>${schemaFields(entry)}`
  const { data } = resolve(document, schema).properties ?? {}
  if (data && nameOf(data)) return html`<p><code>data</code> is ${typeOf(data)}.</p>${schemaFields(data)}`
  return nameOf(schema)
    ? html`<p>The body is ${typeOf(schema)}.</p>${schemaFields(schema)}`
    : fieldTables(document, 'response', schema, 'Response')
}

/** Returns a section that links to a named schema. The script of the page shows the fields of the schema in it. */
function schemaFields(schema: Schema): Html | false {
  const name = nameOf(schema)
  return (
    name !== undefined &&
    html`<details class="more" data-schema="${name}"><summary>Fields of ${name}</summary><p>See the schema ${schemaLink(name)}.</p></details>`
  )
}
