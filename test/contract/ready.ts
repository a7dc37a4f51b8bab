/** What must be so before an operation can succeed, for the tests that go through every route. */
import { must } from '../setup/actors.js'
import type { TestDns } from '../setup/dns.js'
import { totpCode } from '../setup/totp.js'
import { bodies, disableMethods, type World } from './world.js'

type Preparation = (world: World, dns: TestDns) => Promise<object | undefined>

/** By operation. Answers the body to send, if it is a particular one. */
export const ready: Record<string, Preparation> = {
  unblockApiKey: async ({ owner, A, ids }) => {
    must(await owner.post(`${A}/api-keys/${ids.key_id}/block`), 200)
    return undefined
  },
  unblockOrganizationApiKey: async ({ owner, I, ids }) => {
    must(await owner.post(`${I}/organizations/${ids.org_id}/api-keys/${ids.org_key_id}/block`), 200)
    return undefined
  },
  createPaymentMethod: async (world) => {
    await disableMethods(world)
    return undefined
  },
  createTopup: async (world) => {
    const path = `${world.A}/payment-methods`
    const { data } = must(await world.owner.get(path), 200)
    if (!data.some(({ enabled }: { enabled: boolean }) => enabled))
      must(await world.owner.post(path, bodies['createPaymentMethod']!()), 201)
    return undefined
  },
  verifyDomain: publishDomain,
  assignDomain: verifyDomain,
  unassignDomain: async (world, dns) => {
    await verifyDomain(world, dns)
    const body = { issuer_id: world.ids.issuer_id }
    must(await world.owner.post(`${world.A}/domains/${world.ids.domain}/assign`, body), 200)
    return undefined
  },
  completeEnrollment: async ({ app, owner, I, ids }) => {
    const body = { type: 'totp_enrollment', issuer_name: 'Acme' }
    const { data } = must(await owner.post(`${I}/users/${ids.user_id}/verifiers`, body), 201)
    return { enrollment_id: data.enrollment_id, code: totpCode(data.secret, app!.clock.now()) }
  },
  reactivateSession: async ({ owner, I, ids }) => {
    must(await owner.post(`${I}/sessions/${ids.session_id}/suspend`, { reason: 'other' }), 200)
    return undefined
  },
}

async function publishDomain({ owner, A, ids }: World, dns: TestDns): Promise<undefined> {
  const { data } = must(await owner.get(`${A}/domains`), 200)
  const { verification } = data.find(({ host }: { host: string }) => host === ids.domain)
  dns.set(verification.name, verification.value)
}

async function verifyDomain(world: World, dns: TestDns): Promise<undefined> {
  await publishDomain(world, dns)
  must(await world.owner.post(`${world.A}/domains/${world.ids.domain}/verify`), 200)
}
