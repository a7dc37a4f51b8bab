/**
 * Sends emails with the job queue. The transaction that causes an email enqueues a job, and the queue repeats the job
 * until the email is sent or has expired.
 */
import { newId } from '../../kernel/ids.js'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../context.js'
import { hmac } from '../crypto/secrets.js'
import { enqueue, type Task } from '../jobs/queue.js'
import { type Mail, removeFromInbox } from './transport.js'

const TASK = 'mail'

/** The payload of an email job. */
interface MailPayload {
  id: string
  /** The encrypted `Mail` as JSON. It is encrypted because it may contain a code. */
  encrypted: string
  /** When an unsent email is dropped, in Unix milliseconds. */
  expiresAt: number
  /**
   * A keyed hash of the recipient address, by which `deletePendingMail` finds the job. Absent in jobs that an older
   * version enqueued.
   */
  recipient?: string
}

/** Returns the keyed hashes of an address: one for each key in SECRET_KEY, the current key first. */
const recipientHashes = ({ encryptor }: Context, address: string): string[] =>
  encryptor.deriveKeys('mail recipient').map((key) => hmac(key, address.trim().toLowerCase()))

/**
 * Enqueues an email in the current transaction. An email with an empty recipient (`''`) is processed in the same way
 * but not sent, so that response times do not reveal which addresses exist.
 * @param lifetime the time in milliseconds after which an unsent email is dropped
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
 * Deletes the queued, failed and development inbox emails to an address, except queued and failed ones without
 * `recipient`.
 * @param queuedBefore a time in Unix milliseconds; emails that were enqueued later are not deleted
 */
export async function deletePendingMail(context: Context, address: string, queuedBefore: number): Promise<void> {
  await context.query('mail-delete', deleteMailSql, [recipientHashes(context, address), queuedBefore])
  removeFromInbox(context.config, address, queuedBefore)
}

/** Sends an enqueued email. Retries with a doubling delay (`limits.mailInitialRetryDelay`) until the email expires. */
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
      context.log.warn({ mail: id, attempt: number }, 'an email expired before it could be sent and was dropped')
      return 'done'
    }
    const mail = JSON.parse(context.encryptor.decrypt(encrypted)) as Mail
    if (mail.to === '') return 'done'
    try {
      await context.mailer.send(mail, id)
      return 'done'
    } catch (error) {
      context.log.warn({ err: error, mail: id, attempt: number }, 'could not send an email; it will be retried')
      return 'failed'
    }
  },
}
