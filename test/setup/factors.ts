/** People with second factors, as the Core API gives them. */
import type { Page } from '../idp/browser.js'
import { PASSWORD, type Realm } from '../idp/setup.js'
import { must } from './actors.js'
import { Passkey } from './authenticator.js'
import { totpCode } from './totp.js'

export interface Person {
  id: string
  username: string
  /** `/v1/…/verifiers` of this user. */
  path: string
}

let count = 0

export async function makePerson(realm: Realm): Promise<Person> {
  const username = `person-${++count}@example.com`
  const id = await realm.user(username, PASSWORD)
  return { id, username, path: `${realm.tenant.I}/users/${id}/verifiers` }
}

/** Adds authentication methods to the issuer. */
export async function addMethods({ tenant }: Realm, ...methods: string[]): Promise<void> {
  for (const method of methods) must(await tenant.owner.post(`${tenant.I}/auth-methods`, { name: method, method }), 201)
}

/** Gives the person a totp; its next code is the one of the next time step. */
export async function giveTotp({ tenant, app }: Realm, { path }: Person): Promise<string> {
  const body = { type: 'totp_enrollment', name: null, issuer_name: 'Acme' }
  const { data } = must(await tenant.owner.post(path, body), 201)
  const code = totpCode(data.secret, app.clock.now())
  must(await tenant.owner.post(`${path}/complete-enrollment`, { enrollment_id: data.enrollment_id, code }), 200)
  app.clock.advance(30_000)
  return data.secret
}

export async function giveBackupCodes({ tenant }: Realm, { path }: Person): Promise<string[]> {
  return must(await tenant.owner.post(path, { type: 'backup_codes', name: null }), 201).data.codes_plain
}

/** Registers a passkey for the person through the Core API. */
export async function givePasskey({ tenant, app }: Realm, { id, path }: Person): Promise<Passkey> {
  const passkey = new Passkey(id, new URL(app.idpUrl).origin)
  const { data } = must(await tenant.owner.post(`${path}/passkey-challenge`), 201)
  const credential = JSON.parse(passkey.register(data.options))
  must(await tenant.owner.post(path, { type: 'passkey', name: null, credential, challenge_id: data.challenge_id }), 201)
  return passkey
}

/** What a page asks the browser's passkeys for. */
export function optionsOn(page: Page) {
  const text = /data-options="([^"]*)"/.exec(page.html)?.[1]
  if (text === undefined) throw new Error(`nothing for passkeys on ${page.url}: ${page.html.slice(-1500)}`)
  return JSON.parse(text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&'))
}

/** Names of the buttons of a page, in order. */
export const buttonsOn = (page: Page): string[] =>
  [...page.html.matchAll(/<button[^>]*name="method" value="([^"]*)"/g)].map(([, value]) => value!)
