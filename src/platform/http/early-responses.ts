/**
 * Sends responses before the request body is complete, for example when the body is too large or the credential is
 * invalid. If the server closed the connection while the client is still sending, the client's operating system could
 * discard the response (RFC 9112, section 9.6). Therefore the server reads and discards the rest of the body, within
 * limits.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { limits } from '../../kernel/limits.js'

const deferredContinues = new WeakMap<IncomingMessage, ServerResponse>()

/**
 * Defers `100 Continue` until a handler reads the body, so that a client does not send the body of a request that is
 * refused.
 */
export function deferContinue(request: IncomingMessage, response: ServerResponse): void {
  deferredContinues.set(request, response)
}

/** Sends `100 Continue` (RFC 9110, section 10.1.1) if it was deferred for this request. */
export function sendContinue(request: IncomingMessage): void {
  deferredContinues.get(request)?.writeContinue()
  deferredContinues.delete(request)
}

/**
 * Returns true while the client may be sending the body. Returns false when the body is complete, and when the client
 * waits for `100 Continue` before it sends the body.
 */
export const isBodyPending = (request: IncomingMessage): boolean => !request.complete && !deferredContinues.has(request)

/**
 * Sends the response, reads and discards the rest of the request within `limits.maxDiscardedBodyBytes` and
 * `limits.lingeringCloseTimeout`, and closes the connection (lingering close).
 */
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
