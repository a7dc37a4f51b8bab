/**
 * Reads and parses the request bodies of all APIs (docs/contract.md#input-checks). Each API calls `requireContentType`
 * with the content type that it accepts.
 */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { parse } from 'node:querystring'
import { ApiError, badRequest } from '../../kernel/errors.js'
import { parseJson, UnsafeInputError, unsafeInputError } from '../../kernel/safe-json.js'
import { sendContinue } from './early-responses.js'

/**
 * Reads a body as UTF-8 text and removes a byte order mark.
 * @param limit the maximum size of the body in bytes
 * @throws payload_too_large; unsupported_media_type for a Content-Encoding; invalid_request for a body that is not
 *   UTF-8 or incomplete
 */
export async function readBody(request: IncomingMessage, limit: number): Promise<string> {
  checkBodyHeaders(request, limit)
  const body = await readAll(request, limit)
  if (!isUtf8(body)) throw badRequest('The body is not valid UTF-8.')
  return body.toString('utf8').replace(/^\ufeff/, '')
}

/** Uses the stream's events, because its async iterator doubles the cost of reading a small body. */
function readAll(request: IncomingMessage, limit: number): Promise<Buffer> {
  sendContinue(request)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const settleOnce = (settled: () => void) => {
      request.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken)
      settled()
    }
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      chunks.push(chunk)
      if (size > limit) settleOnce(() => reject(tooLarge(limit)))
    }
    const onEnd = (): void => settleOnce(() => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    const onBroken = (): void =>
      settleOnce(() => reject(badRequest('The connection was closed before the body was complete.')))
    request.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken)
    if (request.readableEnded || request.destroyed) onBroken()
  })
}

/** Returns true when the headers say that the request has a body (RFC 9112, section 6). */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/**
 * Checks Content-Encoding and Content-Length before the body is read.
 * @param limit the maximum size of the body in bytes
 * @throws payload_too_large for a Content-Length above the limit; unsupported_media_type with an Accept-Encoding header
 *   (RFC 9110, section 15.5.16) for a Content-Encoding other than identity
 */
export function checkBodyHeaders(request: IncomingMessage, limit: number): void {
  const encoding = request.headers['content-encoding'] ?? ''
  if (hasBody(request) && !/^[\s,]*(identity[\s,]*)*$/i.test(encoding)) {
    const message = 'The body must be sent without Content-Encoding.'
    throw unsupportedMediaType('Content-Encoding', message, { 'Accept-Encoding': 'identity' })
  }
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit)
}

const tooLarge = (limit: number): ApiError =>
  new ApiError('payload_too_large', `The body is larger than ${limit} bytes.`)

const unsupportedMediaType = (field: string, message: string, headers?: Record<string, string>): ApiError =>
  new ApiError('unsupported_media_type', message, {
    details: [{ field, code: 'unsupported', message }],
    ...(headers && { headers }),
  })

const contentTypes = {
  json: {
    pattern: /^application\/(json|merge-patch\+json)\s*(;|$)/i,
    message: 'The body must be JSON; send Content-Type: application/json.',
  },
  form: {
    pattern: /^application\/x-www-form-urlencoded\s*(;|$)/i,
    message: 'The body must be a form; send Content-Type: application/x-www-form-urlencoded.',
  },
}

/** @throws unsupported_media_type if the Content-Type is missing or does not match `type` */
export function requireContentType(request: IncomingMessage, type: keyof typeof contentTypes): void {
  const { pattern, message } = contentTypes[type]
  if (!pattern.test(request.headers['content-type'] ?? '')) throw unsupportedMediaType('Content-Type', message)
}

/**
 * Parses JSON and checks it for unsafe input.
 * @param malformedMessage the error message for text that is not JSON; by default that of `parseJson`
 * @throws invalid_request for text that is not JSON, and for unsafe input (`unsafeInputError`)
 */
export function parseJsonBody(text: string, malformedMessage?: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    if (!(error instanceof UnsafeInputError)) throw error
    throw badRequest((error.isMalformed && malformedMessage) || error.message)
  }
}

/** The fields of a form or query by name. The value of a repeated field is an array. */
export type Form = Record<string, string | string[] | undefined>

/**
 * Parses the text of a form or of a query string with the parser that Koa and oidc-provider use, and checks its fields
 * for unsafe input.
 * @param check throws for unsafe input. The setup page replaces the default check with one that ignores the names of
 *   fields.
 * @throws invalid_request for unsafe input
 */
export function parseForm(text: string, check: (form: Form) => void = requireSafeInput): Form {
  const form: Form = parse(text, '&', '=', { maxKeys: 0 })
  check(form)
  return form
}

/** @throws invalid_request if the name or value of a field is unsafe (`unsafeInputError`) */
export function requireSafeInput(form: Form): void {
  const error = unsafeInputError(form)
  if (error) throw badRequest(error)
}

/**
 * Returns the value of a field; undefined if the field is absent or repeated, because a parameter must not be sent more
 * than once (RFC 6749, section 3.2).
 */
export function formField(form: Form, name: string): string | undefined {
  const value = form[name]
  return typeof value === 'string' ? value : undefined
}

/**
 * Returns the first value of a field, or an empty string if the field is absent. For forms that are not part of OAuth.
 */
export const firstFormField = (form: Form, name: string): string => [form[name]].flat()[0] ?? ''
