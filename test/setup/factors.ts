/** Creates users and their second factors through the Core API. */
import type { Page } from '../idp/browser.js'
import { PASSWORD, type Realm } from '../idp/realm.js'
import { expectStatus } from './actors.js'
import { Passkey } from './authenticator.js'
import { totpCode } from './totp.js'

export interface TestUser {
  id: string
  username: string
  /** `/v1/…/verifiers` of this user. */
  path: string
}

let count = 0

/** Creates a user with the password `PASSWORD`. */
export async function createTestUser(realm: Realm): Promise<TestUser> {
  const username = `person-${++count}@example.com`
  const id = await realm.createUser(username, PASSWORD)
  return { id, username, path: `${realm.tenant.I}/users/${id}/verifiers` }
}

/** Adds authentication methods to the issuer. */
export async function addMethods({ tenant }: Realm, ...methods: string[]): Promise<void> {
  for (const method of methods)
    expectStatus(await tenant.owner.post(`${tenant.I}/auth-methods`, { name: method, method }), 201)
}

/**
 * Adds an authenticator app to the user. Each code can be used once, so the clock is advanced by one time step.
 * @returns the secret in base32
 */
export async function enrollTotp({ tenant, app }: Realm, { path }: TestUser): Promise<string> {
  const body = { type: 'totp_enrollment', name: null, issuer_name: 'Acme' }
  const { data } = expectStatus(await tenant.owner.post(path, body), 201)
  const code = totpCode(data.secret, app.clock.now())
  expectStatus(await tenant.owner.post(`${path}/complete-enrollment`, { enrollment_id: data.enrollment_id, code }), 200)
  app.clock.advance(30_000)
  return data.secret
}

/** Creates backup codes for the user and returns them. */
export async function createBackupCodes({ tenant }: Realm, { path }: TestUser): Promise<string[]> {
  return expectStatus(await tenant.owner.post(path, { type: 'backup_codes', name: null }), 201).data.codes_plain
}

/** Registers a passkey for the user through the Core API. */
export async function registerPasskey({ tenant, app }: Realm, { id, path }: TestUser): Promise<Passkey> {
  const passkey = new Passkey(id, new URL(app.idpUrl).origin)
  const { data } = expectStatus(await tenant.owner.post(`${path}/passkey-challenge`), 201)
  const credential = JSON.parse(passkey.register(data.options))
  expectStatus(
    await tenant.owner.post(path, { type: 'passkey', name: null, credential, challenge_id: data.challenge_id }),
    201,
  )
  return passkey
}

/** Returns the WebAuthn options in the attribute `data-options` of a page. */
export function passkeyOptionsOn(page: Page) {
  const text = /data-options="([^"]*)"/.exec(page.html)?.[1]
  if (text === undefined)
    throw new Error(`The page ${page.url} has no attribute data-options: ${page.html.slice(-1500)}`)
  return JSON.parse(text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&'))
}

/** Returns the values of the buttons with the name `method`, in the order of the page. */
export const methodButtonsOn = (page: Page): string[] =>
  [...page.html.matchAll(/<button[^>]*name="method" value="([^"]*)"/g)].map(([, value]) => value!)
