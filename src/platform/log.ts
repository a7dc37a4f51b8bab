import { pino } from 'pino'
import { type SerializedError, serializeError } from './serialize-error.js'

export type Log = pino.Logger

/** Keys whose values are redacted, at the top level and one level below. */
const redactedKeys = [
  'password',
  'secret',
  'token',
  'code',
  'authorization',
  'cookie',
  'client_secret',
  'refresh_token',
]

/**
 * Opens the log: JSON lines on standard output, formatted text on a terminal. Errors are logged without row values and
 * addresses (serialize-error.ts).
 * @param stream receives the lines instead of standard output
 */
export function openLog(level: string, stream?: pino.DestinationStream): Log {
  const options: pino.LoggerOptions = {
    level,
    base: null,
    redact: { paths: redactedKeys.flatMap((key) => [key, `*.${key}`]), censor: '[secret]' },
    serializers: { err: (error: unknown): SerializedError => serializeError(error) },
  }
  if (stream) return pino(options, stream)
  const transport = { target: 'pino-pretty', options: { ignore: 'pid,hostname' } }
  return pino({ ...options, ...(process.stdout.isTTY ? { transport } : {}) })
}
