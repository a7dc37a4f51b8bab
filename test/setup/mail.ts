/** Reads the development inbox. The application needs the role `worker`, which sends the queued mails. */
import type { TestApp } from './start-app.js'
import { waitUntil } from './wait-until.js'

export interface ReceivedMail {
  id: string
  to: string
  subject: string
  text: string
  html: string
}

/** Returns all mails sent to the address so far, newest first. */
export async function mailsSentTo(app: TestApp, to: string): Promise<ReceivedMail[]> {
  const response = await fetch(`${app.baseUrl}/dev/mail`, { headers: { accept: 'application/json' } })
  const { data } = (await response.json()) as { data: ReceivedMail[] }
  return data.filter((mail) => mail.to === to)
}

/** Waits until at least `count` mails were sent to the address, and returns the newest one. */
export async function waitForMail(app: TestApp, to: string, count = 1): Promise<ReceivedMail> {
  const mails = await waitUntil(`${count} mails to ${to} have arrived`, async () => {
    const sent = await mailsSentTo(app, to)
    return sent.length >= count ? sent : undefined
  })
  return mails![0]!
}

/** Waits until all queued mails are sent, so that a test can expect that a mail was not sent. */
export async function waitForEmptyOutbox(app: TestApp): Promise<void> {
  const { job } = app.gatehouse.database.prisma
  await waitUntil('the mail queue is empty', async () => (await job.count({ where: { task: 'mail' } })) === 0)
}

export const codeInMail = ({ text }: ReceivedMail): string => /^\d{6}$/m.exec(text)![0]
export const linkInMail = ({ text }: ReceivedMail): string => /https?:\/\/\S+/.exec(text)![0]
