/** The development inbox as tests read it: the application must have the worker's role. */
import type { TestApp } from './start-app.js'

export interface ReadMail {
  id: string
  to: string
  subject: string
  text: string
  html: string
}

/** Everything sent to this address so far, newest first. */
export async function mailsTo(app: TestApp, to: string): Promise<ReadMail[]> {
  const answer = await fetch(`${app.baseUrl}/dev/mail`, { headers: { accept: 'application/json' } })
  const { data } = (await answer.json()) as { data: ReadMail[] }
  return data.filter((mail) => mail.to === to)
}

/** The newest mail to this address; waits until there are so many. */
export async function mailTo(app: TestApp, to: string, count = 1): Promise<ReadMail> {
  for (let wait = 0; wait < 200; wait++) {
    const mails = await mailsTo(app, to)
    if (mails.length >= count) return mails[0]!
    await new Promise((go) => setTimeout(go, 25))
  }
  throw new Error(`no mail number ${count} to ${to}`)
}

/** Has the outbox been emptied? Then what has not come will not come. */
export async function outboxEmpty(app: TestApp): Promise<void> {
  for (let wait = 0; wait < 200; wait++) {
    if ((await app.gatehouse.tools.prisma.job.count({ where: { task: 'mail' } })) === 0) return
    await new Promise((go) => setTimeout(go, 25))
  }
  throw new Error('the outbox does not empty')
}

export const codeIn = ({ text }: ReadMail): string => /^\d{6}$/m.exec(text)![0]
export const linkIn = ({ text }: ReadMail): string => /https?:\/\/\S+/.exec(text)![0]
