/** The state that operations require before they can succeed, for the tests that call every route. */
import { expectStatus } from '../setup/actors.js'
import type { TestDns } from '../setup/dns.js'
import { totpCode } from '../setup/totp.js'
import { disablePaymentMethods, requestBodies, type TenantFixture } from './tenant-fixture.js'

type Precondition = (world: TenantFixture, dns: TestDns) => Promise<object | undefined>

/**
 * Functions that create the state for an operation, by the name of the operation. Each returns the request body if the
 * operation needs a specific one, otherwise undefined.
 */
export const preconditions: Record<string, Precondition> = {
  unblockApiKey: async ({ owner, A, ids }) => {
    expectStatus(await owner.post(`${A}/api-keys/${ids.key_id}/block`), 200)
    return undefined
  },
  unblockOrganizationApiKey: async ({ owner, I, ids }) => {
    expectStatus(await owner.post(`${I}/organizations/${ids.org_id}/api-keys/${ids.org_key_id}/block`), 200)
    return undefined
  },
  createPaymentMethod: async (fixture) => {
    await disablePaymentMethods(fixture)
    return undefined
  },
  createTopup: async (fixture) => {
    const path = `${fixture.A}/payment-methods`
    const { data } = expectStatus(await fixture.owner.get(path), 200)
    if (!data.some(({ enabled }: { enabled: boolean }) => enabled))
      expectStatus(await fixture.owner.post(path, requestBodies['createPaymentMethod']!()), 201)
    return undefined
  },
  verifyDomain: publishDomain,
  assignDomain: verifyDomain,
  unassignDomain: async (fixture, dns) => {
    await verifyDomain(fixture, dns)
    const body = { issuer_id: fixture.ids.issuer_id }
    expectStatus(await fixture.owner.post(`${fixture.A}/domains/${fixture.ids.domain}/assign`, body), 200)
    return undefined
  },
  completeEnrollment: async ({ app, owner, I, ids }) => {
    const body = { type: 'totp_enrollment', issuer_name: 'Acme' }
    const { data } = expectStatus(await owner.post(`${I}/users/${ids.user_id}/verifiers`, body), 201)
    return { enrollment_id: data.enrollment_id, code: totpCode(data.secret, app!.clock.now()) }
  },
  reactivateSession: async ({ owner, I, ids }) => {
    expectStatus(await owner.post(`${I}/sessions/${ids.session_id}/suspend`, { reason: 'other' }), 200)
    return undefined
  },
}

async function publishDomain({ owner, A, ids }: TenantFixture, dns: TestDns): Promise<undefined> {
  const { data } = expectStatus(await owner.get(`${A}/domains`), 200)
  const { verification } = data.find(({ host }: { host: string }) => host === ids.domain)
  dns.set(verification.name, verification.value)
}

async function verifyDomain(fixture: TenantFixture, dns: TestDns): Promise<undefined> {
  await publishDomain(fixture, dns)
  expectStatus(await fixture.owner.post(`${fixture.A}/domains/${fixture.ids.domain}/verify`), 200)
}
