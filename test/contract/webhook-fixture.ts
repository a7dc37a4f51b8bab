/** A tenant with a webhook receiver, and helpers for webhooks and deliveries. */
import type { Gatehouse } from '../../src/platform/context.js'
import { sendDueDeliveries } from '../../src/resources/webhooks/delivery-worker.js'
import { createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { startWebhookReceiver, type WebhookReceiver } from '../setup/webhook-receiver.js'

export class WebhookFixture {
  receiver!: WebhookReceiver
  #count = 0

  private constructor(
    readonly app: TestApp,
    readonly tenant: Tenant,
  ) {}

  static async create(): Promise<WebhookFixture> {
    const app = await startApp({ roles: ['core'], env: { ALLOW_PRIVATE_NETWORKS: 'true' } })
    const fixture = new WebhookFixture(app, await createTenant(app))
    fixture.receiver = await startWebhookReceiver()
    return fixture
  }

  /** Deletes all webhooks and deliveries, and resets the receiver. The clock keeps its time. */
  async reset(): Promise<void> {
    this.receiver.requests.length = 0
    this.receiver.respond = (res) => void res.writeHead(204).end()
    const { prisma } = this.app.gatehouse.database
    await prisma.webhook.deleteMany()
    await prisma.webhookDelivery.deleteMany()
  }

  async close(): Promise<void> {
    await this.app.close()
    await this.receiver.close()
  }

  /** Causes events of the type `user.created`, to which `createWebhook` subscribes by default. */
  async triggerEvents(count = 1): Promise<void> {
    const { owner, I } = this.tenant
    for (let n = 0; n < count; n++) {
      expectStatus(await owner.post(`${I}/users`, { username_type: 'unique', username: `u${++this.#count}` }), 201)
    }
  }

  /** Creates a webhook and returns it with its secrets. */
  async createWebhook(body: object = {}): Promise<AnyJson> {
    const { owner, A } = this.tenant
    const url = `${this.receiver.url}/in`
    return expectStatus(await owner.post(`${A}/webhooks`, { url, event_types: ['user.created'], ...body }), 201).data
  }

  webhookPath = (webhook: AnyJson): string => `${this.tenant.A}/webhooks/${webhook.id}`
  getWebhook = async (webhook: AnyJson): Promise<AnyJson> =>
    expectStatus(await this.tenant.owner.get(this.webhookPath(webhook)), 200).data
  updateWebhook = async (webhook: AnyJson, body: object): Promise<AnyJson> =>
    expectStatus(await this.tenant.owner.patch(this.webhookPath(webhook), body), 200).data

  /** Returns the deliveries of a webhook, newest first, at most 100. */
  async listDeliveries(webhook: AnyJson, query = ''): Promise<AnyJson[]> {
    return expectStatus(await this.tenant.owner.get(`${this.webhookPath(webhook)}/deliveries?limit=100${query}`), 200)
      .data
  }

  /** Runs one round of the delivery worker, which sends the deliveries that are due. */
  sendDueDeliveries = (gatehouse: Gatehouse = this.app.gatehouse): Promise<void> => sendDueDeliveries(gatehouse)

  respondWith(status: number, headers: Record<string, string> = {}): void {
    this.receiver.respond = (res) => void res.writeHead(status, headers).end()
  }

  /** Returns the ids of the received events, in order of arrival. */
  receivedEventIds = (): string[] => this.receiver.requests.map(({ event: { id } }) => id)
}
