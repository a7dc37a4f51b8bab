/**
 * Sends emails to the SMTP server of MAIL_URL. Without MAIL_URL, stores them in the development inbox, or fails if the
 * deployment has none (`hasDevelopmentInbox`).
 */
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config.js'
import { idTimestamp } from '../../kernel/ids.js'
import { limits } from '../../kernel/limits.js'
import { type Clock } from '../../kernel/time.js'
import { isLoopback } from '../../kernel/uri.js'
import { createPrivateDirectory } from '../directories.js'
import { lazy } from '../lazy.js'
import type { Log } from '../log.js'

export interface Mail {
  to: string
  subject: string
  text: string
  html: string
}

export interface Mailer {
  /**
   * Sends an email.
   * @param id the ID of the email, which is the same for each attempt to send it
   * @throws Error when the email cannot be sent or stored
   */
  send(mail: Mail, id: string): Promise<void>
  close(): void
}

/** Creates the mailer for MAIL_URL, or without MAIL_URL for the development inbox. */
export function createMailer(config: Config, now: Clock): Mailer {
  const { url, from } = config.mail
  if (url === undefined) {
    return { send: async (mail, id) => saveToInbox(config, id, { ...mail, sent_at: now() }), close: () => {} }
  }
  const transport = lazy(
    'connection to the mail server',
    () => createMailTransport(url, from),
    (open) => open.close(),
  )
  return {
    send: async (mail, id) => {
      const open = await transport.get()
      await open.sendMail({ ...mail, messageId: `<${id}@${new URL(config.idpUrl).hostname}>` })
    },
    close: () => void transport.close(),
  }
}

/** Imports nodemailer on first use, because most processes send no emails. */
async function createMailTransport(url: string, from: string) {
  const { createTransport } = await import('nodemailer')
  const timeouts = {
    connectionTimeout: limits.mailConnectionTimeout,
    greetingTimeout: limits.mailGreetingTimeout,
    socketTimeout: limits.mailSocketTimeout,
  }
  return createTransport({ url, ...timeouts, disableFileAccess: true, disableUrlAccess: true }, { from })
}

/**
 * Connects to the server of MAIL_URL and authenticates, without sending an email.
 * @returns the error message of a failure, or undefined on success
 */
export async function mailServerError({ mail }: Config): Promise<string | undefined> {
  const transport = await createMailTransport(mail.url ?? '', mail.from)
  try {
    await transport.verify()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    transport.close()
  }
}

/**
 * Returns true when emails are stored for the page `/dev/mail`: if MAIL_URL is not set and the host of BASE_URL is a
 * loopback host. The page also checks the address of the client, because a reader of the emails can sign in as any
 * user.
 */
export const hasDevelopmentInbox = ({ mail, baseUrl }: Config): boolean =>
  mail.url === undefined && isLoopback(new URL(baseUrl).hostname)

/** Logs where emails are stored, or that they are not sent, if MAIL_URL is not set. */
export function logMailDelivery(config: Config, log: Log): void {
  const { mail, baseUrl } = config
  if (mail.url !== undefined) return
  if (hasDevelopmentInbox(config))
    log.info(`MAIL_URL is not set: mail is shown at ${baseUrl}/dev/mail, on this machine only`)
  else log.warn('MAIL_URL is not set: mail is not sent; set it to smtp://user:password@host:587.')
}

export interface InboxMail extends Mail {
  id: string
  /** When Gatehouse stored the email, in Unix milliseconds. */
  sent_at: number
}

const inboxFolder = ({ dataDir }: Config): string => join(dataDir, 'mail')

function saveToInbox(config: Config, id: string, mail: Omit<InboxMail, 'id'>): void {
  if (!hasDevelopmentInbox(config)) throw new Error('MAIL_URL is not set, so email cannot be sent.')
  const folder = inboxFolder(config)
  createPrivateDirectory(folder)
  const file = join(folder, `${id}.json`)
  writeFileSync(`${file}.part`, JSON.stringify(mail), { mode: 0o600 })
  renameSync(`${file}.part`, file)
  for (const old of inboxFiles(folder).slice(limits.maxInboxMessages)) rmSync(join(folder, old), { force: true })
}

/** Returns the names of the files, newest first. The names are IDs, which sort by time. */
const inboxFiles = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .reverse()

/** Returns the emails in the development inbox, newest first. */
export function readInbox(config: Config): InboxMail[] {
  const folder = inboxFolder(config)
  try {
    return inboxFiles(folder).map((name) => {
      const stored = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Omit<InboxMail, 'id'>
      return { id: name.slice(0, -'.json'.length), ...stored }
    })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/**
 * Deletes the emails to an address from the development inbox.
 * @param before a time in Unix milliseconds; emails that were enqueued later are not deleted
 */
export function removeFromInbox(config: Config, address: string, before: number): void {
  if (!hasDevelopmentInbox(config)) return
  for (const { id, to } of readInbox(config)) {
    const shouldRemove = to.toLowerCase() === address.toLowerCase() && idTimestamp(id) <= before
    if (shouldRemove) rmSync(join(inboxFolder(config), `${id}.json`), { force: true })
  }
}
