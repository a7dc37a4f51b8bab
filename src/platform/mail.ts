/**
 * Mail. A message is promised by the transaction of what it belongs to and handed over by the queue, again and again
 * while that fails, until it is of no use any more.
 */
import { newId } from '../kernel/ids.js'
import { DAY, MINUTE, SECOND } from '../kernel/time.js'
import type { Context } from './context.js'
import { type Mail, removeFromInbox } from './mail-transport.js'
import { enqueue, type Task } from './queue.js'
import { hmac } from './secrets.js'

const TASK = 'mail'

/** What the queue keeps of a message: sealed, for it may carry a code. */
interface Kept {
  id: string
  sealed: string
  expiresAt: number
  /** Keyed hash of the address, by which it is found. Mail of older versions has none. */
  recipient?: string
}

/** The address as every key of the deployment hashes it, the one in use first. */
const recipientsOf = ({ sealer }: Context, address: string): string[] =>
  sealer.deriveEach('mail recipient').map((key) => hmac(key, address.trim().toLowerCase()))

/**
 * Queues a message. Call it in the transaction of what the message tells about. One to nobody (`''`) costs the same
 * work and goes nowhere, so that the time does not tell who has an address here.
 * @param life milliseconds after which it is dropped rather than sent
 */
export async function queueMail(context: Context, mail: Mail, life: number = DAY): Promise<void> {
  const now = context.now()
  const sealed = context.sealer.seal(JSON.stringify(mail))
  const recipient = recipientsOf(context, mail.to)[0]!
  await enqueue(context, TASK, [{ id: newId('mail', now), sealed, expiresAt: now + life, recipient }])
}

const forgetText = `
  DELETE FROM jobs WHERE task = '${TASK}' AND payload->>'recipient' = ANY ($1::text[]) AND created_at <= $2::bigint`

/**
 * Removes what waits for an address, or was given up, and what the development inbox has of it.
 * @param before Unix milliseconds; what was queued later stays
 */
export async function forgetMail(context: Context, address: string, before: number): Promise<void> {
  await context.query('mail-forget', forgetText, [recipientsOf(context, address), before])
  removeFromInbox(context.config, address, before)
}

/** Tried again after 5 seconds, then twice as long each time, up to 10 minutes; the life of the message ends it. */
export const mailTask: Task = {
  name: TASK,
  attempts: 1000,
  delay: (failed) => Math.min(5 * SECOND * 2 ** Math.min(failed - 1, 10), 10 * MINUTE),
  lease: MINUTE,
  parallel: 10,

  async run(context, payload, { number }) {
    const { id, sealed, expiresAt } = payload as Kept
    if (expiresAt <= context.now()) {
      context.log.warn({ mail: id, attempt: number }, 'a mail could not be sent in time and was dropped')
      return 'done'
    }
    const mail = JSON.parse(context.sealer.open(sealed)) as Mail
    if (mail.to === '') return 'done'
    try {
      await context.postman.deliver(mail, id)
      return 'done'
    } catch (error) {
      context.log.warn({ err: error, mail: id, attempt: number }, 'a mail could not be sent; it will be tried again')
      return 'failed'
    }
  },
}
