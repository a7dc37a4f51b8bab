import { pino } from 'pino'

export type Log = pino.Logger

/** Keys whose values never reach a log, at any depth that this product logs. */
const secretKeys = ['password', 'secret', 'token', 'code', 'authorization', 'cookie', 'client_secret', 'refresh_token']

/** JSON lines on standard output; readable ones on a terminal. */
export function openLog(level: string): Log {
  return pino({
    level,
    base: null,
    redact: { paths: secretKeys.flatMap((key) => [key, `*.${key}`]), censor: '[secret]' },
    ...(process.stdout.isTTY ? { transport: { target: 'pino-pretty', options: { ignore: 'pid,hostname' } } } : {}),
  })
}
