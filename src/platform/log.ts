import { pino } from 'pino'
import { type ErrorFacts, errorFacts } from './error-facts.js'

export type Log = pino.Logger

/** Keys whose values never reach a log, at any depth that this product logs. */
const secretKeys = ['password', 'secret', 'token', 'code', 'authorization', 'cookie', 'client_secret', 'refresh_token']

/**
 * JSON lines on standard output; readable ones on a terminal. Of errors they have no values of rows or addresses
 * (error-facts.ts).
 * @param stream where lines go instead
 */
export function openLog(level: string, stream?: pino.DestinationStream): Log {
  const options: pino.LoggerOptions = {
    level,
    base: null,
    redact: { paths: secretKeys.flatMap((key) => [key, `*.${key}`]), censor: '[secret]' },
    serializers: { err: (error: unknown): ErrorFacts => errorFacts(error) },
  }
  if (stream) return pino(options, stream)
  const transport = { target: 'pino-pretty', options: { ignore: 'pid,hostname' } }
  return pino({ ...options, ...(process.stdout.isTTY ? { transport } : {}) })
}
