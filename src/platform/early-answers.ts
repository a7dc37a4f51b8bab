/**
 * Answers that are given before the request was read to its end: a body that is too large, a credential that does not
 * fit. The client may still be sending. Closing the connection then makes its system discard the answer with the
 * connection (RFC 9112 9.6), so what still comes is read and discarded for a while.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { SECOND } from '../kernel/time.js'

/** Discarded after an answer at most, in bytes and milliseconds. */
const DISCARDED = 32 * 1024 * 1024
const LINGER = 10 * SECOND

const continuations = new WeakMap<IncomingMessage, ServerResponse>()

/** Leaves `100 Continue` to the reader of the body: a request that is refused by its headers never sends one. */
export function deferContinue(request: IncomingMessage, response: ServerResponse): void {
  continuations.set(request, response)
}

/** Asks for a body that waits for `100 Continue` (RFC 9110 10.1.1). */
export function continueBody(request: IncomingMessage): void {
  continuations.get(request)?.writeContinue()
  continuations.delete(request)
}

/** Is the client still sending a body? Not one that waits to be asked for it. */
export const isSending = (request: IncomingMessage): boolean => !request.complete && !continuations.has(request)

/** Writes a whole answer, discards what still comes within bounds, and closes the connection (lingering close). */
export function endEarly(request: IncomingMessage, response: ServerResponse, body: string | Buffer): void {
  response.setHeader('Connection', 'close')
  if (body.length > 0) {
    response.setHeader('Content-Length', Buffer.byteLength(body))
    response.write(body)
  } else {
    response.flushHeaders()
  }
  let left = DISCARDED
  const finish = (): void => {
    clearTimeout(timer)
    request.off('data', discard).off('end', finish).off('error', finish).off('close', finish)
    response.end()
  }
  const discard = (chunk: Buffer): void => {
    left -= chunk.length
    if (left < 0) finish()
  }
  const timer = setTimeout(finish, LINGER)
  request.on('data', discard).on('end', finish).on('error', finish).on('close', finish)
  request.resume()
}
