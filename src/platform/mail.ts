/**
 * Mail. A message is written into the outbox by the transaction of what it belongs to, so that a process may die at any
 * instruction; a worker hands it over and tries again while that fails.
 */
import { newId } from '../kernel/ids.js'
import { DAY, MINUTE, SECOND } from '../kernel/time.js'
import type { Context, Gatehouse } from './context.js'
import { type Deliver, type Mail, openTransport } from './mail-transport.js'
import { announce, listen } from './notify.js'

/**
 * Queues a message. Call it in the transaction of what the message tells about. One to nobody (`''`) costs the same
 * work and goes nowhere, so that the time does not tell who has an address here.
 * @param life milliseconds after which it is dropped rather than sent
 */
export async function queueMail(context: Context, mail: Mail, life: number = DAY): Promise<void> {
  const now = context.now()
  const sealed = context.sealer.seal(JSON.stringify(mail))
  const id = newId('mail', now)
  await context.db.outgoingMail.create({ data: { id, sealed, nextAt: now, expiresAt: now + life, createdAt: now } })
  await announce(context, 'mail', id)
}

/** An attempt that has not ended by then died with its process (milliseconds). */
const LONGEST_ATTEMPT = MINUTE
const FIRST_WAIT = 5 * SECOND
const LONGEST_WAIT = 10 * MINUTE
const AT_ONCE = 10

interface Row {
  id: string
  sealed: string
  attempts: number
  expiresAt: number
}

const takeText = `
  UPDATE outgoing_mail m SET attempts = attempts + 1, next_at = $1::bigint + ${LONGEST_ATTEMPT}
  WHERE id IN (SELECT id FROM outgoing_mail WHERE next_at <= $1::bigint ORDER BY next_at LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED)
  RETURNING id, sealed, attempts, expires_at AS "expiresAt"`

/** Sends what is due, until nothing is. */
async function sendDue(gatehouse: Gatehouse, deliver: Deliver): Promise<void> {
  const { tools, log, sealer, now } = gatehouse
  for (;;) {
    const rows = await tools.query<Row & Record<string, unknown>>('mail-take', takeText, [now()])
    if (rows.length === 0) return
    await Promise.all(
      rows.map(async ({ id, sealed, attempts, expiresAt }) => {
        let sent = false
        try {
          if (expiresAt > now()) {
            const mail = JSON.parse(sealer.open(sealed)) as Mail
            if (mail.to !== '') await deliver(mail, id)
            sent = true
          }
        } catch (error) {
          const wait = Math.min(FIRST_WAIT * 2 ** (attempts - 1), LONGEST_WAIT)
          log.warn({ err: error, mail: id, attempts }, 'a mail could not be sent; it will be tried again')
          await tools.query('mail-again', 'UPDATE outgoing_mail SET next_at = $2 WHERE id = $1', [id, now() + wait])
          return
        }
        if (!sent) log.warn({ mail: id, attempts }, 'a mail could not be sent in time and was dropped')
        await tools.query('mail-done', 'DELETE FROM outgoing_mail WHERE id = $1', [id])
      }),
    )
  }
}

/** How often the outbox is looked at without a notice (milliseconds). */
const LOOK = 5 * SECOND

/** Sends mail from now on: soon after each notice, and what is due again at intervals. @returns how to stop */
export function keepMail(gatehouse: Gatehouse): () => Promise<void> {
  const transport = openTransport(gatehouse)
  let work: Promise<void> = Promise.resolve()
  let queued = false
  const look = (): void => {
    if (queued) return
    queued = true
    work = work
      .then(() => {
        queued = false
        return sendDue(gatehouse, transport.deliver)
      })
      .catch((error) => gatehouse.log.warn({ err: error }, 'sending mail failed; it goes on shortly'))
  }
  const subscription = listen(gatehouse.tools, gatehouse.log, {
    onNotice: (topic) => topic === 'mail' && look(),
    onReconnect: look,
  })
  const timer = setInterval(look, LOOK)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await subscription.close()
    await work
    transport.close()
  }
}
