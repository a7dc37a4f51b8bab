/** Where mail goes: to the mail server, or while there is none to an inbox on one's own machine. */
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.js'
import { timeOf } from '../kernel/ids.js'
import { type Clock, SECOND } from '../kernel/time.js'
import { isLoopback } from '../kernel/uri.js'
import { onFirstUse } from './first-use.js'
import { makeFolder } from './folders.js'
import type { Log } from './log.js'

export interface Mail {
  to: string
  subject: string
  text: string
  html: string
}

/** Who carries mail out of this process. */
export interface Postman {
  /** @param id of the message: the same when it is tried again */
  deliver(mail: Mail, id: string): Promise<void>
  close(): void
}

/** The mail server of MAIL_URL; without one the development inbox. */
export function openPostman(config: Config, now: Clock): Postman {
  const { url, from } = config.mail
  if (url === undefined) {
    return { deliver: async (mail, id) => keepInInbox(config, id, { ...mail, sent_at: now() }), close: () => {} }
  }
  const transport = onFirstUse(
    () => transportTo(url, from),
    (open) => open.close(),
  )
  return {
    deliver: async (mail, id) => {
      const open = await transport.get()
      await open.sendMail({ ...mail, messageId: `<${id}@${new URL(config.idpUrl).hostname}>` })
    },
    close: () => void transport.close(),
  }
}

/** Loads its library: processes that send no mail do without. */
async function transportTo(url: string, from: string) {
  const { createTransport } = await import('nodemailer')
  const waits = { connectionTimeout: 10 * SECOND, greetingTimeout: 10 * SECOND, socketTimeout: 20 * SECOND }
  return createTransport({ url, ...waits, disableFileAccess: true, disableUrlAccess: true }, { from })
}

/** Why the mail server of MAIL_URL does not take us, without sending anything; undefined when it does. */
export async function reachMailServer({ mail }: Config): Promise<string | undefined> {
  const transport = await transportTo(mail.url ?? '', mail.from)
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
 * Is mail kept for reading at `/dev/mail`? Where people call this deployment their own machine; who reads it can sign in
 * as anybody, so the page itself looks at who asks.
 */
export const hasInbox = ({ mail, baseUrl }: Config): boolean =>
  mail.url === undefined && isLoopback(new URL(baseUrl).hostname)

/** Says at the start where mail goes while there is no mail server. */
export function announceMail(config: Config, log: Log): void {
  const { mail, baseUrl } = config
  if (mail.url !== undefined) return
  if (hasInbox(config)) log.info(`MAIL_URL is not set: mail is kept at ${baseUrl}/dev/mail, for this machine alone`)
  else log.warn('MAIL_URL is not set: mail is not sent; set it to smtp://user:password@host:587.')
}

export interface InboxMail extends Mail {
  id: string
  /** Unix milliseconds. */
  sent_at: number
}

/** How many messages the development inbox keeps. */
const INBOX_SIZE = 200
const inboxOf = ({ dataDir }: Config): string => join(dataDir, 'mail')

function keepInInbox(config: Config, id: string, mail: Omit<InboxMail, 'id'>): void {
  if (!hasInbox(config)) throw new Error('MAIL_URL is not set')
  const folder = inboxOf(config)
  makeFolder(folder)
  const file = join(folder, `${id}.json`)
  writeFileSync(`${file}.part`, JSON.stringify(mail), { mode: 0o600 })
  renameSync(`${file}.part`, file)
  for (const old of inboxFiles(folder).slice(INBOX_SIZE)) rmSync(join(folder, old), { force: true })
}

/** Newest first: time order is id order. */
const inboxFiles = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .reverse()

/** What the development inbox holds, newest first. */
export function readInbox(config: Config): InboxMail[] {
  const folder = inboxOf(config)
  try {
    return inboxFiles(folder).map((name) => {
      const kept = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Omit<InboxMail, 'id'>
      return { id: name.slice(0, -'.json'.length), ...kept }
    })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** Removes what the development inbox has for an address. @param before Unix milliseconds; what was queued later stays */
export function removeFromInbox(config: Config, address: string, before: number): void {
  if (!hasInbox(config)) return
  for (const { id, to } of readInbox(config)) {
    const isTheirs = to.toLowerCase() === address.toLowerCase() && timeOf(id) <= before
    if (isTheirs) rmSync(join(inboxOf(config), `${id}.json`), { force: true })
  }
}
