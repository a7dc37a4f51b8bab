import { pino } from 'pino'
import { type SerializedError, serializeError } from './serialize-error.js'

export type Log = pino.Logger

/** Keys whose values are redacted, at the top level of a log line and one level below. */
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
 * Opens the log. It writes JSON lines to standard output, or formatted text if standard output is a terminal. It writes
 * errors without row values and email addresses (serialize-error.ts).
 * @param level the value of LOG_LEVEL
 * @param stream receives the JSON lines instead of standard output
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
