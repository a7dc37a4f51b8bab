/**
 * Every documented setting of an issuer has an effect (docs/contract.md#settings-without-effect,
 * docs/contract.md#configuration-health). Each key has an entry in `effects`, which either tests the effect or names the
 * test file that tests it.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { z } from 'zod'
import { packageRoot } from '../../src/platform/package-info.js'
import { issuerSettingsRules } from '../../src/resources/issuers/settings.js'
import { expectStatus } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { headingOf, TestBrowser } from './browser.js'
import { jwtClaims, PASSWORD, Realm } from './realm.js'

let app: TestApp
beforeAll(async () => {
  app = await startApp()
})
afterAll(() => app.close())

/** Creates an issuer with one setting. `path` is its dotted path, for example `security.mfa_required`. */
async function issuerWith(path: string, value: unknown): Promise<Realm> {
  const realm = await Realm.create(app)
  const settings = path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)
  expectStatus(await realm.tenant.owner.patch(realm.tenant.I, { settings }), 200)
  return realm
}

/** The error codes with which an issuer rejects a password; undefined if it accepts it. */
async function refusals(realm: Realm, password: string): Promise<string[] | undefined> {
  const { owner, I } = realm.tenant
  const profile = { name: 'Wilhelmina' }
  const user = expectStatus(
    await owner.post(`${I}/users`, { username_type: 'unique', username: `u${Math.random()}`, profile }),
    201,
  )
  const { status, body } = await owner.post(`${I}/users/${user.data.id}/verifiers`, {
    type: 'password',
    name: null,
    password,
  })
  return status === 201 ? undefined : body.details.map(({ code }: { code: string }) => code)
}

/** Tests that a password is rejected with one value of a policy setting and accepted with another. */
const password = (key: string, password: string, strict: unknown, lax: unknown, code: string) => async () => {
  const path = `security.password_policy.${key}`
  expect(await refusals(await issuerWith(path, strict), password)).toEqual([code])
  expect(await refusals(await issuerWith(path, lax), password)).toBeUndefined()
}

async function pageOf(realm: Realm, headers: Record<string, string> = {}) {
  const { page } = await realm.openSignInPage(await realm.createClient(), {}, new TestBrowser('https://', headers))
  return page.html
}

/** A function that tests the effect of a setting, or the path of the test file that tests it, relative to `test`. */
type Effect = string | (() => Promise<void>)

const effects: Record<string, Effect> = {
  'signup.mode': 'idp/login/sign-up.test.ts',
  'signup.allowed_domains': 'idp/login/sign-up.test.ts',
  'signup.blocked_domains': 'idp/login/sign-up.test.ts',
  'signup.require_email_verification': 'idp/login/sign-up.test.ts',
  'signup.require_admin_approval': 'idp/login/sign-up.test.ts',
  'sessions.absolute_lifetime': 'idp/revocation.test.ts',
  'sessions.idle_timeout': 'idp/revocation.test.ts',
  'sessions.device_fingerprinting': async () => {
    const fingerprintOf = async (value: boolean) => {
      const realm = await issuerWith('sessions.device_fingerprinting', value)
      await realm.createUser('ada@example.com')
      const tokens = await realm.signInForTokens(await realm.createClient(), 'ada@example.com')
      const { sid } = jwtClaims(tokens.access_token)
      return expectStatus(await realm.tenant.owner.get(`${realm.tenant.I}/sessions/${sid}`), 200).data.device
        .fingerprint
    }
    expect(await fingerprintOf(true)).toMatch(/^[\w-]{43}$/)
    expect(await fingerprintOf(false)).toBeNull()
  },
  'security.cors_origins': async () => {
    const origin = 'https://dashboard.example.com'
    const allowed = async (realm: Realm) => {
      const { id } = await realm.createClient({}, { confidential: true })
      const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: 'x', client_id: id })
      const response = await fetch(`${realm.url}/token`, { method: 'POST', body, headers: { origin } })
      return response.headers.get('access-control-allow-origin')
    }
    expect(await allowed(await issuerWith('security.cors_origins', [origin]))).toBe(origin)
    expect(await allowed(await issuerWith('security.cors_origins', []))).not.toBe(origin)
  },
  'security.redirect_uri_rules.allow_loopback': 'contract/clients.test.ts',
  'security.redirect_uri_rules.allow_private_use_schemes': 'contract/clients.test.ts',
  'security.redirect_uri_rules.allowed_hosts': 'contract/clients.test.ts',
  'security.mfa_required': 'idp/login/second-factors.test.ts',
  'security.password_policy.min_length': password('min_length', 'nine char', 10, 8, 'password_too_short'),
  'security.password_policy.max_length': password('max_length', 'very long '.repeat(8), 64, 128, 'password_too_long'),
  'security.password_policy.require_lowercase': password(
    'require_lowercase',
    'LOUD 4711 WORDS!',
    true,
    false,
    'password_needs_lowercase',
  ),
  'security.password_policy.require_uppercase': password(
    'require_uppercase',
    'quiet 4711 words!',
    true,
    false,
    'password_needs_uppercase',
  ),
  'security.password_policy.require_digit': password(
    'require_digit',
    'No number here!',
    true,
    false,
    'password_needs_digit',
  ),
  'security.password_policy.require_symbol': password(
    'require_symbol',
    'NoSymbolHere4711',
    true,
    false,
    'password_needs_symbol',
  ),
  'security.password_policy.disallow_common': password(
    'disallow_common',
    'password1',
    true,
    false,
    'password_too_common',
  ),
  'security.password_policy.disallow_user_info': password(
    'disallow_user_info',
    'xx wilhelmina xx',
    true,
    false,
    'password_contains_user_info',
  ),
  'security.password_policy.history': 'contract/users.test.ts',
  'security.password_policy.max_age_days': async () => {
    const realm = await issuerWith('security.password_policy.max_age_days', 30)
    await realm.createUser('ada@example.com')
    const client = await realm.createClient()
    const DAY = 86_400_000
    app.clock.advance(29 * DAY)
    expect((await realm.signIn(client, 'ada@example.com')).redirect['code']).toBeDefined()
    app.clock.advance(2 * DAY)
    const { page, browser } = await realm.openSignInPage(client)
    const nextPage = await browser.submit(page, { username: 'ada@example.com', password: PASSWORD })
    expect(headingOf(nextPage)).toBe('Choose a new password')
    app.clock.advance(-31 * DAY)
  },
  'security.password_policy.check_breached': 'contract/breached-passwords.test.ts',
  'security.openid_policy.client_id_metadata_document.enabled': 'idp/client-id-metadata-documents.test.ts',
  'security.openid_policy.client_id_metadata_document.organization_policy': 'idp/client-id-metadata-documents.test.ts',
  'security.openid_policy.client_id_metadata_document.allowed_resources': 'idp/client-id-metadata-documents.test.ts',
  'security.openid_policy.client_id_metadata_document.allowed_scopes': 'idp/client-id-metadata-documents.test.ts',
  'security.openid_policy.profile': 'idp/fapi2.test.ts',
  'security.openid_policy.client_assertions.enabled': 'idp/private-key-jwt.test.ts',
  'security.openid_policy.dynamic_registration.enabled': 'idp/registration.test.ts',
  'security.openid_policy.dynamic_registration.initial_access_token_required': 'idp/registration.test.ts',
  'security.openid_policy.dynamic_registration.allowed_scopes': 'idp/registration.test.ts',
  'security.openid_policy.dynamic_registration.allowed_resources': 'idp/registration.test.ts',
  'openid.claims': 'idp/custom-claims.test.ts',
  'branding.display_name': async () =>
    expect(await pageOf(await issuerWith('branding.display_name', 'Tulips & Co'))).toContain('Tulips &amp; Co'),
  'branding.logo_url': async () =>
    expect(await pageOf(await issuerWith('branding.logo_url', 'https://cdn.example.com/l.svg'))).toContain(
      '<img src="https://cdn.example.com/l.svg"',
    ),
  'branding.language': async () => {
    const realm = await issuerWith('branding.language', 'de')
    expect(await pageOf(realm)).toContain('<html lang="de"')
    // branding.language is only the default. The language that the browser requests has precedence.
    expect(await pageOf(realm, { 'accept-language': 'en' })).toContain('<html lang="en"')
  },
  ...Object.fromEntries(
    ['primary_color', 'background_color', 'text_color'].map((key): [string, Effect] => [
      `branding.theme.${key}`,
      async () => {
        const plain = await pageOf(await Realm.create(app))
        const themed = await pageOf(await issuerWith(`branding.theme.${key}`, '#123456'))
        expect([plain.includes('#123456'), themed.includes('#123456')]).toEqual([false, true])
      },
    ]),
  ),
}

/** Returns the dotted paths of all keys of a Zod schema. */
function keysOf(rules: unknown, path: string[] = []): string[] {
  if (rules instanceof z.ZodOptional || rules instanceof z.ZodNullable) return keysOf(rules.unwrap(), path)
  if (!(rules instanceof z.ZodObject)) return [path.join('.')]
  return Object.entries(rules.shape).flatMap(([key, inner]) => keysOf(inner, [...path, key]))
}

test('every key of the settings schema has an entry, and every entry has a key', () => {
  expect(Object.keys(effects).sort()).toEqual(keysOf(issuerSettingsRules).sort())
})

test.each(Object.entries(effects))('%s has an effect', async (path, effect) => {
  if (typeof effect === 'function') return effect()
  const file = join(packageRoot, 'test', effect)
  expect(existsSync(file) && readFileSync(file, 'utf8').includes(path.split('.').at(-1)!)).toBe(true)
})
