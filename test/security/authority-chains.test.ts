/**
 * Ways to more reach that the single operations do not show (docs/security.md, "Authority"): values that mean the same
 * in another form, and several permitted steps. What each operation asks for is held by authority.test.ts.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { fresh } from '../contract/world.js'
import { keyWith, makeTenant, must, type Tenant } from '../setup/actors.js'
import type { Answer, Api, Loose } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

/** What no caller here holds, and each target does. */
const LACKED = 'issuers.agents:read'

let app: TestApp
let tenant: Tenant

beforeAll(async () => {
  app = await startApp()
  tenant = await makeTenant(app)
})
afterAll(() => app.close())

const withScopes = (...scopes: string[]): Promise<Api> => keyWith(tenant, { scopes })

/** 403 with the challenge of RFC 6750 that names the scope. */
function expectRefused(answer: Answer<Loose>, scope: string): void {
  expect({ status: answer.status, error: answer.body.error, text: answer.text }).toMatchObject({
    status: 403,
    error: 'insufficient_scope',
  })
  expect(answer.headers.get('www-authenticate')).toBe(`Bearer error="insufficient_scope", scope="${scope}"`)
}

test.each(['me@evil.example.', 'me@ävil.example', '<me@evil.example>', 'me@evil.example '])(
  'a mail address is a credential in any form that a mail server takes: %j',
  async (email) => {
    const body = { username_type: 'unique', username: fresh('boss'), scopes: [LACKED] }
    const { id } = must(await tenant.owner.post(`${tenant.I}/users`, body), 201).data
    const desk = await withScopes('issuers.users:write')
    expectRefused(await desk.patch(`${tenant.I}/users/${id}`, { profile: { email } }), LACKED)
    must(await desk.patch(`${tenant.I}/users/${id}`, { profile: { name: 'A new name' } }), 200)
  },
)
