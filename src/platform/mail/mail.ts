/**
 * Sends mail through the job queue: the transaction that causes a message enqueues it, and the queue retries it until
 * it is sent or expires.
 */
import { newId } from '../../kernel/ids.js'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../context.js'
import { hmac } from '../crypto/secrets.js'
import { enqueue, type Task } from '../jobs/queue.js'
import { type Mail, removeFromInbox } from './transport.js'

const TASK = 'mail'

/** The payload of a mail job. The message is encrypted, because it may contain a code. */
interface MailPayload {
  id: string
  encrypted: string
  expiresAt: number
  /** A keyed hash of the recipient address, for deletion. Absent in mail queued by older versions. */
  recipient?: string
}

/** Returns the hash of the address for each configured key, the current key first. */
const recipientHashes = ({ encryptor }: Context, address: string): string[] =>
  encryptor.deriveKeys('mail recipient').map((key) => hmac(key, address.trim().toLowerCase()))

/**
 * Queues a message in the current transaction. A message with an empty recipient (`''`) costs the same work but is not
 * sent, so that response times do not reveal which addresses exist.
 * @param lifetime milliseconds after which an unsent message is dropped
 */
export async function enqueueMail(
  context: Context,
  mail: Mail,
  lifetime: number = limits.defaultMailLifetime,
): Promise<void> {
  const now = context.now()
  const encrypted = context.encryptor.encrypt(JSON.stringify(mail))
  const recipient = recipientHashes(context, mail.to)[0]!
  await enqueue(context, TASK, [{ id: newId('mail', now), encrypted, expiresAt: now + lifetime, recipient }])
}

const deleteMailSql = `
  DELETE FROM jobs WHERE task = '${TASK}' AND payload->>'recipient' = ANY ($1::text[]) AND created_at <= $2::bigint`

/**
 * Deletes queued and failed messages to an address, and those in the development inbox.
 * @param queuedBefore Unix milliseconds; later messages stay
 */
export async function deletePendingMail(context: Context, address: string, queuedBefore: number): Promise<void> {
  await context.query('mail-delete', deleteMailSql, [recipientHashes(context, address), queuedBefore])
  removeFromInbox(context.config, address, queuedBefore)
}

/** Retries after 5 seconds, doubling up to 10 minutes, until the message expires. */
export const mailTask: Task = {
  name: TASK,
  maxAttempts: limits.maxMailAttempts,
  retryDelay: (failed) =>
    Math.min(limits.mailInitialRetryDelay * 2 ** Math.min(failed - 1, 10), limits.maxMailRetryDelay),
  leaseDuration: limits.mailLeaseDuration,
  concurrency: limits.maxConcurrentMails,

  async run(context, payload, { number }) {
    const { id, encrypted, expiresAt } = payload as MailPayload
    if (expiresAt <= context.now()) {
      context.log.warn({ mail: id, attempt: number }, 'email expired before it could be sent; dropped')
      return 'done'
    }
    const mail = JSON.parse(context.encryptor.decrypt(encrypted)) as Mail
    if (mail.to === '') return 'done'
    try {
      await context.mailer.send(mail, id)
      return 'done'
    } catch (error) {
      context.log.warn({ err: error, mail: id, attempt: number }, 'could not send an email; will retry')
      return 'failed'
    }
  },
}
