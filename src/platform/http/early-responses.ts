/**
 * Sends responses before the request body is complete, such as for an oversized body or an invalid credential. If the
 * server closes the connection while the client is still sending, the client's system may discard the response (RFC
 * 9112, section 9.6), so the rest of the body is read and discarded within limits.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { limits } from '../../kernel/limits.js'

const deferredContinues = new WeakMap<IncomingMessage, ServerResponse>()

/** Defers `100 Continue` until the body is read, so that a client does not send the body of a refused request. */
export function deferContinue(request: IncomingMessage, response: ServerResponse): void {
  deferredContinues.set(request, response)
}

/** Sends a deferred `100 Continue` (RFC 9110, section 10.1.1). */
export function sendContinue(request: IncomingMessage): void {
  deferredContinues.get(request)?.writeContinue()
  deferredContinues.delete(request)
}

/** Returns true while the client is sending a body; false when it waits for `100 Continue`. */
export const isBodyPending = (request: IncomingMessage): boolean => !request.complete && !deferredContinues.has(request)

/** Sends the response, discards the rest of the request within limits, and closes the connection (lingering close). */
export function sendEarlyResponse(request: IncomingMessage, response: ServerResponse, body: string | Buffer): void {
  response.setHeader('Connection', 'close')
  if (body.length > 0) {
    response.setHeader('Content-Length', Buffer.byteLength(body))
    response.write(body)
  } else {
    response.flushHeaders()
  }
  let remainingBytes = limits.maxDiscardedBodyBytes
  const finish = (): void => {
    clearTimeout(timer)
    request.off('data', discard).off('end', finish).off('error', finish).off('close', finish)
    response.end()
  }
  const discard = (chunk: Buffer): void => {
    remainingBytes -= chunk.length
    if (remainingBytes < 0) finish()
  }
  const timer = setTimeout(finish, limits.lingeringCloseTimeout)
  request.on('data', discard).on('end', finish).on('error', finish).on('close', finish)
  request.resume()
}
