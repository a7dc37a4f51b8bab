/** Webhooks of a tenant, the receiver that they lead to, and what becomes of their deliveries. */
import type { Gatehouse } from '../../src/platform/context.js'
import { sendDue } from '../../src/resources/webhooks/sending.js'
import { makeTenant, must, type Tenant } from '../setup/actors.js'
import type { Loose } from '../setup/api.js'
import { type Receiver, startReceiver } from '../setup/receiver.js'
import { startApp, type TestApp } from '../setup/start-app.js'

export class Hooks {
  receiver!: Receiver
  #count = 0

  private constructor(
    readonly app: TestApp,
    readonly tenant: Tenant,
  ) {}

  static async make(): Promise<Hooks> {
    const app = await startApp({ roles: ['core'], env: { ALLOW_PRIVATE_NETWORKS: 'true' } })
    const hooks = new Hooks(app, await makeTenant(app))
    hooks.receiver = await startReceiver()
    return hooks
  }

  /** As at the beginning, but for the clock. */
  async clear(): Promise<void> {
    this.receiver.notices.length = 0
    this.receiver.answer = (res) => void res.writeHead(204).end()
    const { prisma } = this.app.gatehouse.tools
    await prisma.webhook.deleteMany()
    await prisma.webhookDelivery.deleteMany()
  }

  async close(): Promise<void> {
    await this.app.close()
    await this.receiver.close()
  }

  /** Something happens: one event each that the webhooks want. */
  async happen(times = 1): Promise<void> {
    const { owner, I } = this.tenant
    for (let n = 0; n < times; n++) {
      must(await owner.post(`${I}/users`, { username_type: 'unique', username: `u${++this.#count}` }), 201)
    }
  }

  /** A webhook, with its secrets. */
  async hook(body: object = {}): Promise<Loose> {
    const { owner, A } = this.tenant
    const url = `${this.receiver.url}/in`
    return must(await owner.post(`${A}/webhooks`, { url, event_types: ['user.created'], ...body }), 201).data
  }

  path = (webhook: Loose): string => `${this.tenant.A}/webhooks/${webhook.id}`
  read = async (webhook: Loose): Promise<Loose> => must(await this.tenant.owner.get(this.path(webhook)), 200).data
  patch = async (webhook: Loose, body: object): Promise<Loose> =>
    must(await this.tenant.owner.patch(this.path(webhook), body), 200).data

  /** Newest first. */
  async deliveries(webhook: Loose, query = ''): Promise<Loose[]> {
    return must(await this.tenant.owner.get(`${this.path(webhook)}/deliveries?limit=100${query}`), 200).data
  }

  /** Sends what is due. */
  send = (gatehouse: Gatehouse = this.app.gatehouse): Promise<void> => sendDue(gatehouse)

  answering(status: number, headers: Record<string, string> = {}): void {
    this.receiver.answer = (res) => void res.writeHead(status, headers).end()
  }

  /** The ids of the events that came, in their order. */
  came = (): string[] => this.receiver.notices.map(({ told: { id } }) => id)
}

export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 20_000; !(await isTrue()); await new Promise((go) => setTimeout(go, 20)))
    if (Date.now() > end) throw new Error('it did not come true in time')
}
