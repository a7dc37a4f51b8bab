/**
 * Clients (docs/contract.md#clients, docs/contract.md#client-endpoints, docs/contract.md#redirect-uri-registration,
 * docs/contract.md#token-lifetimes, docs/contract.md#redirect-uri-rules-of-an-issuer).
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { createRestrictedKey, expectStatus } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import {
  confidentialClient,
  createTenantFixture,
  publicClient,
  type TenantFixture,
  uniqueName,
} from './tenant-fixture.js'

const DAY = 86_400_000
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'

let app: TestApp
let fixture: TenantFixture
let clients: string
beforeAll(async () => {
  app = await startApp()
  fixture = await createTenantFixture(app)
  clients = `${fixture.I}/clients`
})
afterAll(() => app.close())

const withOpenid = (openid: object, more: object = {}) => publicClient({ settings: { openid }, ...more })
const errorFieldsOf = (response: { body: AnyJson }): string[] =>
  (response.body.details ?? []).map(({ field }: AnyJson) => field)

type ExpectedResults = Partial<Record<'web' | 'spa' | 'native', boolean>>
const everywhere: ExpectedResults = { web: true, spa: true, native: true }
const nowhere: ExpectedResults = { web: false, spa: false, native: false }
const nativeOnly: ExpectedResults = { web: false, spa: false, native: true }

/** Redirect URIs by registration rule, with the application types that may register them. */
const callbacks: Record<string, [string, ExpectedResults][]> = {
  'https, and http on exact loopback hosts': [
    ['https://app.example.com/callback', everywhere],
    ['https://app.example.com', everywhere],
    ['https://app.example.com:8443/cb?tenant=a&x=%20b', everywhere],
    ['https://xn--bcher-kva.example/cb', everywhere],
    ['https://203.0.113.7/cb', everywhere],
    ['https://[2001:db8::1]/cb', everywhere],
    ['https://localhost/cb', everywhere],
    ['http://localhost:3000/cb', everywhere],
    ['http://127.0.0.1:49152/cb', everywhere],
    ['http://[::1]:8080/cb', everywhere],
    ['http://localhost/cb', everywhere],
  ],
  'private-use schemes are for native clients': [
    ['com.example.app:/oauth2redirect', nativeOnly],
    ['com.example.app://callback', nativeOnly],
    ['com.example.app:/cb?x=1', nativeOnly],
    ['org.example-corp.app2:/cb', nativeOnly],
  ],
  'a private-use scheme without a domain is refused': [
    ['myapp:/cb', nowhere],
    ['myapp://cb', nowhere],
    ['myapp:cb', nowhere],
    ['urn:ietf:wg:oauth:2.0:oob', nowhere],
  ],
  'javascript:, data:, file: and other schemes': [
    ['javascript:alert(1)', nowhere],
    ['JavaScript:alert(1)', nowhere],
    ['javascript://app.example.com/%0aalert(1)', nowhere],
    ['data:text/html,<script>alert(1)</script>', nowhere],
    ['file:///etc/passwd', nowhere],
    ['vbscript:x', nowhere],
    ['blob:https://app.example.com/1', nowhere],
    ['about:blank', nowhere],
    ['ftp://app.example.com/', nowhere],
    ['ws://app.example.com/', nowhere],
    ['wss://app.example.com/', nowhere],
    ['mailto:a@example.com', nowhere],
    ['view-source:https://app.example.com', nowhere],
  ],
  'remote http; loopback hosts are exact': [
    ['http://app.example.com/cb', nowhere],
    ['http://localhost.example.com/cb', nowhere],
    ['http://localhost./cb', nowhere],
    ['http://LOCALHOST/cb', nowhere],
    ['http://127.0.0.1.example.com/cb', nowhere],
    ['http://127.1/cb', nowhere],
    ['http://127.0.0.2/cb', nowhere],
    ['http://2130706433/cb', nowhere],
    ['http://0x7f.0.0.1/cb', nowhere],
    ['http://0177.0.0.1/cb', nowhere],
    ['http://[0:0:0:0:0:0:0:1]/cb', nowhere],
    ['http://[::ffff:127.0.0.1]/cb', nowhere],
    ['http://0.0.0.0/cb', nowhere],
    ['http://127.0.0.1%2eexample.com/cb', nowhere],
    ['http://localhost@example.com/cb', nowhere],
    ['HTTP://localhost/cb', nowhere],
  ],
  'credentials, fragments, whitespace, control characters, backslashes': [
    ['https://user@app.example.com/cb', nowhere],
    ['https://user:secret@app.example.com/cb', nowhere],
    ['https://@app.example.com/cb', nowhere],
    ['https://:@app.example.com/cb', nowhere],
    ['com.example.app://user@host/cb', nowhere],
    ['https://app.example.com/cb#', nowhere],
    ['https://app.example.com/cb#token', nowhere],
    ['com.example.app:/cb#x', nowhere],
    ['https://app.example.com/c b', nowhere],
    [' https://app.example.com/cb', nowhere],
    ['https://app.example.com/cb ', nowhere],
    ['https://app.example.com/cb\n', nowhere],
    ['https://app.example.com/\tcb', nowhere],
    ['ht\ntps://app.example.com/cb', nowhere],
    ['https://app.example.com/\u0001', nowhere],
    ['https://app.example.com/\u007f', nowhere],
    ['https://app.example.com/\u0085', nowhere],
    ['https://app.example.com/\u00a0', nowhere],
    ['https://app.example.com/\u2028', nowhere],
    ['https://app.example.com\\cb', nowhere],
    ['https://evil.example\\@app.example.com/', nowhere],
    ['https:\\\\app.example.com/cb', nowhere],
    ['com.example.app:\\cb', nowhere],
  ],
  'URIs that a parser repairs silently or that are ambiguous': [
    ['https:app.example.com/cb', nowhere],
    ['https:/app.example.com/cb', nowhere],
    ['https:///app.example.com/cb', nowhere],
    ['https://', nowhere],
    ['https:', nowhere],
    ['//app.example.com/cb', nowhere],
    ['/cb', nowhere],
    ['app.example.com/cb', nowhere],
    ['', nowhere],
    ['https://App.Example.com/cb', nowhere],
    ['HTTPS://app.example.com/cb', nowhere],
    ['https://bücher.example/cb', nowhere],
    ['https://app.example.com:/cb', nowhere],
    ['https://app.example.com:99999/cb', nowhere],
    ['https://app.example.com:0443/cb', nowhere],
    ['https://app.example.com:x/cb', nowhere],
    ['https://*.example.com/cb', nowhere],
    ['https://app.%65xample.com/cb', nowhere],
    ['https://app.example.com/../cb', nowhere],
    ['https://app.example.com/a/./b', nowhere],
    ['https://app.example.com/a/%2e%2e/b', nowhere],
    ['https://app.example.com/a/.%2E', nowhere],
    ['https://app.example.com/ü', nowhere],
    ['https://app.example.com/\u200b', nowhere],
    ['https://app.example.com/\u202e', nowhere],
    ['https://app.example.com/<script>', nowhere],
    ['https://app.example.com/"', nowhere],
    ['https://app.example.com/{x}', nowhere],
    ['https://app.example.com/%', nowhere],
    ['https://app.example.com/%zz', nowhere],
    ['https://[::1/cb', nowhere],
    ['com.example.app', nowhere],
    ['.example.app:/cb', nowhere],
    ['com..example:/cb', nowhere],
    ['Com.Example.App:/cb', nowhere],
    [`https://app.example.com/${'x'.repeat(2048)}`, nowhere],
  ],
}
const rows = Object.entries(callbacks).flatMap(([rule, values]) =>
  values.map(([uri, allowedByType]) => ({ rule, uri, allowedByType })),
)

describe('redirect URI registration', () => {
  test.each(rows)('$rule: $uri', async ({ uri, allowedByType }) => {
    for (const [application_type, good] of Object.entries(allowedByType)) {
      for (const list of ['redirect_uris', 'post_logout_redirect_uris']) {
        const confidential = application_type === 'web'
        const response = await fixture.owner.post(
          clients,
          withOpenid({ application_type, [list]: [uri] }, { confidential }),
        )
        expect({
          application_type,
          list,
          status: response.status,
          text: good && response.status !== 201 ? response.text : '',
        }).toEqual({
          application_type,
          list,
          status: good ? 201 : 400,
          text: '',
        })
        if (good) expect(response.body.data.settings.openid[list]).toEqual([uri])
        else expect(errorFieldsOf(response)).toEqual([`settings.openid.${list}[0]`])
      }
    }
  })

  test('the table has at least 60 URIs that no application type may register', () => {
    expect(rows.filter(({ allowedByType }) => allowedByType === nowhere).length).toBeGreaterThanOrEqual(60)
  })

  test.each(['web', 'spa', 'native'] as const)('the registration rules apply to updates: %s', async (type) => {
    const confidential = type === 'web'
    const client = expectStatus(
      await fixture.owner.post(clients, withOpenid({ application_type: type }, { confidential })),
      201,
    ).data
    for (const { rule, uri, allowedByType } of rows) {
      const openid = { redirect_uris: [uri], post_logout_redirect_uris: [uri] }
      const response = await fixture.owner.patch(`${clients}/${client.id}`, { settings: { openid } })
      const lists = ['redirect_uris', 'post_logout_redirect_uris'].map((list) => `settings.openid.${list}[0]`)
      const good = allowedByType[type]
      expect({ rule, uri, status: response.status, fields: errorFieldsOf(response) }).toEqual({
        rule,
        uri,
        status: good ? 200 : 400,
        fields: good ? [] : lists,
      })
    }
  })

  test('m2m clients have no redirect URIs', async () => {
    const m2m = { application_type: 'm2m', redirect_uris: ['https://app.example.com/cb'] }
    const response = await fixture.owner.post(clients, withOpenid(m2m, { confidential: true }))
    expect({ status: response.status, fields: errorFieldsOf(response) }).toEqual({
      status: 400,
      fields: ['settings.openid.redirect_uris'],
    })
    expect(
      (await fixture.owner.post(clients, withOpenid({ ...m2m, redirect_uris: [] }, { confidential: true }))).status,
    ).toBe(201)
  })

  test('all invalid URIs are reported in one response with their positions', async () => {
    const response = await fixture.owner.post(
      clients,
      withOpenid({
        redirect_uris: ['https://a.example', 'x', 'http://b.example'],
        post_logout_redirect_uris: ['javascript:1'],
      }),
    )
    expect(errorFieldsOf(response)).toEqual([
      'settings.openid.redirect_uris[1]',
      'settings.openid.redirect_uris[2]',
      'settings.openid.post_logout_redirect_uris[0]',
    ])
  })

  test('updates follow the same rules; a change of the application type validates the stored redirect URIs again', async () => {
    const client = expectStatus(
      await fixture.owner.post(
        clients,
        withOpenid({ application_type: 'native', redirect_uris: ['com.example.app:/cb'] }),
      ),
      201,
    ).data
    const path = `${clients}/${client.id}`
    for (const openid of [
      { redirect_uris: ['http://b.example'] },
      { application_type: 'spa' },
      { application_type: 'web' },
    ]) {
      expect((await fixture.owner.patch(path, { settings: { openid } })).status).toBe(400)
    }
    expect((await fixture.owner.get(path)).body.data).toMatchObject({
      settings: client.settings,
      updated_at: client.updated_at,
    })
    expectStatus(
      await fixture.owner.patch(path, {
        settings: { openid: { application_type: 'spa', redirect_uris: ['https://a.example/'] } },
      }),
      200,
    )
  })

  test('an empty list is allowed for a disabled client', async () => {
    const client = expectStatus(await fixture.owner.post(clients, withOpenid({ redirect_uris: [] })), 201).data
    expectStatus(
      await fixture.owner.patch(`${clients}/${client.id}`, { settings: { openid: { post_logout_redirect_uris: [] } } }),
      200,
    )
  })

  test('a disabled client can be enabled only if both lists are valid', async () => {
    const client = expectStatus(
      await fixture.owner.post(clients, withOpenid({ redirect_uris: ['https://a.example/cb'] })),
      201,
    ).data
    const path = `${clients}/${client.id}`
    expectStatus(await fixture.owner.patch(path, { status: 'disabled' }), 200)
    for (const list of ['redirect_uris', 'post_logout_redirect_uris']) {
      // The stored URI can be invalid if it was written before a rule became stricter.
      const settings = { openid: { [list]: ['http://remote.example/cb'] } }
      await app.gatehouse.database.prisma.client.update({ where: { id: client.id }, data: { settings } })
      const response = await fixture.owner.patch(path, { status: 'active' })
      expect({ status: response.status, fields: errorFieldsOf(response) }).toEqual({
        status: 400,
        fields: [`settings.openid.${list}[0]`],
      })
      // Other fields of the disabled client can still be changed.
      expect((await fixture.owner.patch(path, { name: uniqueName('Renamed') })).status).toBe(200)
      await app.gatehouse.database.prisma.client.update({ where: { id: client.id }, data: { settings: {} } })
    }
    expect(expectStatus(await fixture.owner.patch(path, { status: 'active' }), 200).data.status).toBe('active')
  })
})

describe('settings', () => {
  const refused: [string, object, string][] = [
    ['an unknown application type', { openid: { application_type: 'desktop' } }, 'settings.openid.application_type'],
    ['an unknown grant', { openid: { grant_types: ['password'] } }, 'settings.openid.grant_types[0]'],
    ['the implicit grant', { openid: { grant_types: ['implicit'] } }, 'settings.openid.grant_types[0]'],
    ['an unknown algorithm', { openid: { response_signature_alg: 'HS256' } }, 'settings.openid.response_signature_alg'],
    ['alg none', { openid: { response_signature_alg: 'none' } }, 'settings.openid.response_signature_alg'],
    ['a value that is not a list', { openid: { redirect_uris: 'https://a.example' } }, 'settings.openid.redirect_uris'],
    [
      '101 callbacks',
      { openid: { redirect_uris: Array.from({ length: 101 }, (_, i) => `https://a.example/${i}`) } },
      'settings.openid.redirect_uris',
    ],
    [
      'a resource that is not a URI',
      { openid: { allowed_resources: ['orders'] } },
      'settings.openid.allowed_resources[0]',
    ],
    [
      'a resource with a fragment',
      { openid: { allowed_resources: ['https://api.example/#x'] } },
      'settings.openid.allowed_resources[0]',
    ],
    ['scopes with spaces', { scopes: ['a b'] }, 'settings.scopes[0]'],
    [
      'an unknown organization policy',
      { restrictions: { organizations: { policy: 'all' } } },
      'settings.restrictions.organizations.policy',
    ],
    [
      'an organization of another issuer',
      { restrictions: { organizations: { policy: 'allowlist', allowed_org_ids: [`org_${'0'.repeat(26)}`] } } },
      'settings.restrictions.organizations.allowed_org_ids[0]',
    ],
    [
      'client_credentials on a public client',
      { openid: { grant_types: ['client_credentials'] } },
      'settings.openid.grant_types',
    ],
    ['token exchange on a public client', { openid: { grant_types: [EXCHANGE] } }, 'settings.openid.grant_types'],
    ['a public m2m client', { openid: { application_type: 'm2m' } }, 'settings.openid.application_type'],
    ...['default_access_token_age', 'default_id_token_age', 'default_refresh_token_age'].flatMap(
      (name): [string, object, string][] =>
        [1_814_401, 0, -1, 1.5, '1800', null, 1e12].flatMap((value): [string, object, string][] =>
          // In a PATCH, null removes a key (RFC 7396) and is no error.
          value === null
            ? []
            : [
                [`${name} ${value}`, { [name]: value }, `settings.${name}`],
                [`openid.${name} ${value}`, { openid: { [name]: value } }, `settings.openid.${name}`],
              ],
        ),
    ),
    [
      'lifetimes that contradict each other',
      { default_access_token_age: 60, openid: { default_access_token_age: 61 } },
      'settings.default_access_token_age',
    ],
  ]
  test.each(refused)('%s is 400', async (_, settings, field) => {
    const response = await fixture.owner.post(clients, publicClient({ settings }))
    expect({ status: response.status, fields: errorFieldsOf(response) }).toMatchObject({
      status: 400,
      fields: expect.arrayContaining([field]),
    })
    const client = expectStatus(await fixture.owner.post(clients, publicClient()), 201).data
    expect((await fixture.owner.patch(`${clients}/${client.id}`, { settings })).status).toBe(400)
  })

  test('lifetimes from 1 second to 21 days are stored unchanged', async () => {
    const settings = {
      default_access_token_age: 1,
      default_id_token_age: 1_814_400,
      openid: { default_refresh_token_age: 1_814_400 },
    }
    expect(expectStatus(await fixture.owner.post(clients, publicClient({ settings })), 201).data.settings).toEqual(
      settings,
    )
  })

  test('unknown keys are stored at every level', async () => {
    const settings = {
      custom: { a: [1, null, 'x'] },
      openid: { custom: true },
      restrictions: { organizations: { custom: 1 } },
    }
    expect(expectStatus(await fixture.owner.post(clients, publicClient({ settings })), 201).data.settings).toEqual(
      settings,
    )
  })

  test('organization ids are validated when they are added; an organization that was deleted later blocks no update', async () => {
    const organization = async () =>
      expectStatus(await fixture.owner.post(`${fixture.I}/organizations`, {}), 201).data.id
    const [gone, kept] = [await organization(), await organization()]
    const allow = (...allowed_org_ids: string[]) => ({
      settings: { restrictions: { organizations: { policy: 'allowlist', allowed_org_ids } } },
    })
    const path = `${clients}/${expectStatus(await fixture.owner.post(clients, publicClient(allow(gone))), 201).data.id}`
    expectStatus(await fixture.owner.delete(`${fixture.I}/organizations/${gone}`), 204)
    expectStatus(await fixture.owner.patch(path, { settings: { custom: 1 } }), 200)
    expectStatus(await fixture.owner.patch(path, { status: 'disabled' }), 200)
    // Enabling a client validates only its redirect URI lists, not the organization ids.
    expectStatus(await fixture.owner.patch(path, { status: 'active' }), 200)
    expectStatus(await fixture.owner.patch(path, allow(gone, kept)), 200)
    const response = await fixture.owner.patch(path, allow(gone, kept, `org_${'0'.repeat(26)}`))
    expect({ status: response.status, fields: errorFieldsOf(response) }).toEqual({
      status: 400,
      fields: ['settings.restrictions.organizations.allowed_org_ids[2]'],
    })
    // After its removal from the list, the deleted organization cannot be added again.
    expectStatus(await fixture.owner.patch(path, allow(kept)), 200)
    expect((await fixture.owner.patch(path, allow(gone, kept))).status).toBe(400)
  })

  test('PATCH is a JSON Merge Patch: null removes, arrays are replaced, other sections are unchanged', async () => {
    const settings = { a: { b: 1, c: [1, 2] }, d: 1, openid: { redirect_uris: ['https://a.example/'] } }
    const client = expectStatus(await fixture.owner.post(clients, publicClient({ settings })), 201).data
    const patched = expectStatus(
      await fixture.owner.patch(`${clients}/${client.id}`, {
        settings: { a: { b: null, c: [3] }, d: null, e: { f: null, g: 2 } },
      }),
      200,
    ).data
    expect(patched.settings).toEqual({ a: { c: [3] }, e: { g: 2 }, openid: { redirect_uris: ['https://a.example/'] } })
  })

  test('metadata and other objects are replaced as a whole', async () => {
    const client = expectStatus(await fixture.owner.post(clients, publicClient({ metadata: { a: 1, b: 2 } })), 201).data
    expect(
      expectStatus(await fixture.owner.patch(`${clients}/${client.id}`, { metadata: { c: null } }), 200).data.metadata,
    ).toEqual({ c: null })
  })
})

describe('settings.security.redirect_uri_rules of the issuer', () => {
  const rules = async (redirect_uri_rules: object | null, at = fixture.I) =>
    expectStatus(await fixture.owner.patch(at, { settings: { security: { redirect_uri_rules } } }), 200)
  afterEach(() => rules(null))
  const [APP, LOOPBACK, PRIVATE] = ['https://app.example.com/cb', 'http://127.0.0.1/cb', 'com.example.app:/cb']
  const native = (redirect_uris: string[], openid: object = {}) =>
    withOpenid({ application_type: 'native', redirect_uris, ...openid })
  const make = async (redirect_uris: string[]) =>
    expectStatus(await fixture.owner.post(clients, native(redirect_uris)), 201).data

  test.each<[string, object, string[], [index: number, rule: string][]]>([
    ['none', {}, [APP, LOOPBACK, PRIVATE], []],
    ['allow_loopback', { allow_loopback: false }, [APP, LOOPBACK, PRIVATE], [[1, 'allow_loopback']]],
    [
      'allow_private_use_schemes',
      { allow_private_use_schemes: false },
      [APP, LOOPBACK, PRIVATE],
      [[2, 'allow_private_use_schemes']],
    ],
    [
      'allowed_hosts',
      { allowed_hosts: ['*.example.com'] },
      [APP, LOOPBACK, PRIVATE, 'https://a.b.example.com/cb'],
      [[3, 'allowed_hosts']],
    ],
    [
      'all errors together',
      { allow_loopback: false, allow_private_use_schemes: false, allowed_hosts: ['b.example'] },
      [APP, LOOPBACK, PRIVATE],
      [
        [0, 'allowed_hosts'],
        [1, 'allow_loopback'],
        [2, 'allow_private_use_schemes'],
      ],
    ],
  ])(
    '%s: the error names the URI, the setting and the rule, on create and on update',
    async (_, given, uris, refused) => {
      const before = await make([])
      await rules(given)
      for (const list of ['redirect_uris', 'post_logout_redirect_uris']) {
        const openid = { application_type: 'native', [list]: uris }
        for (const response of [
          await fixture.owner.post(clients, withOpenid(openid)),
          await fixture.owner.patch(`${clients}/${before.id}`, { settings: { openid } }),
        ]) {
          if (refused.length === 0) {
            expect([200, 201]).toContain(response.status)
            continue
          }
          expect([response.status, response.body.error]).toEqual([400, 'invalid_request'])
          expect(response.body.details).toEqual(
            refused.map(([index, rule]) => ({
              field: `settings.openid.${list}[${index}]`,
              code: 'not_allowed',
              message: expect.stringContaining(
                `settings.security.redirect_uri_rules.${rule} of the issuer refuses ${uris[index]}`,
              ),
            })),
          )
        }
      }
    },
  )

  test('the rules of an issuer narrow the general registration rules and do not widen them', async () => {
    await rules({ allow_loopback: true, allow_private_use_schemes: true, allowed_hosts: ['evil.example'] })
    for (const uri of ['http://evil.example/cb', 'https://evil.example/cb#x', 'myapp:/cb', 'javascript:alert(1)'])
      expect(errorFieldsOf(await fixture.owner.post(clients, native([uri])))).toEqual([
        'settings.openid.redirect_uris[0]',
      ])
    expect(errorFieldsOf(await fixture.owner.post(clients, withOpenid({ redirect_uris: [PRIVATE] })))).toEqual([
      'settings.openid.redirect_uris[0]',
    ])
  })

  test('an existing client keeps working and can be renamed and disabled; changing its settings or enabling it requires compliance', async () => {
    const path = `${clients}/${(await make([APP, LOOPBACK])).id}`
    await rules({ allow_loopback: false })
    expectStatus(await fixture.owner.patch(path, { name: 'Renamed', metadata: { a: 1 } }), 200)
    expect(errorFieldsOf(await fixture.owner.patch(path, { settings: { custom: 1 } }))).toEqual([
      'settings.openid.redirect_uris[1]',
    ])
    expectStatus(await fixture.owner.patch(path, { status: 'disabled' }), 200)
    expect(errorFieldsOf(await fixture.owner.patch(path, { status: 'active' }))).toEqual([
      'settings.openid.redirect_uris[1]',
    ])
    const settings = { openid: { redirect_uris: [APP] } }
    expectStatus(await fixture.owner.patch(path, { status: 'active', settings }), 200)
  })

  test('rules of another issuer of the account do not apply', async () => {
    const other = expectStatus(
      await fixture.owner.post(`${fixture.A}/issuers`, { name: uniqueName('Issuer') }),
      201,
    ).data
    await rules({ allow_loopback: false }, `${fixture.A}/issuers/${other.id}`)
    await make([LOOPBACK])
    expect((await fixture.owner.post(`${fixture.A}/issuers/${other.id}/clients`, native([LOOPBACK]))).status).toBe(400)
  })
})

describe('token exchange capability', () => {
  const exchange = (more: object = {}) => ({
    subject_resources: [{ resource: 'https://api.example', scopes: ['orders:read'] }],
    target_resources: [{ resource: 'https://stock.example', scopes: ['stock:read'] }],
    ...more,
  })
  const actor = (openid: object = {}, more: object = {}) =>
    confidentialClient({
      settings: {
        openid: { application_type: 'm2m', grant_types: [EXCHANGE], token_exchange: exchange(), ...openid },
        ...more,
      },
    })

  test('an actor is a confidential m2m client without other grants', async () => {
    expectStatus(await fixture.owner.post(clients, actor()), 201)
    expectStatus(
      await fixture.owner.post(clients, actor({ token_exchange: exchange({ max_access_token_age: 30 }) })),
      201,
    )
    for (const [field, body] of [
      ['settings.openid.grant_types', actor({ grant_types: [EXCHANGE, 'client_credentials'] })],
      ['settings.openid.grant_types', actor({ grant_types: ['client_credentials'] })],
      ['settings.openid.token_exchange', actor({ application_type: 'web' })],
      ['settings.openid.redirect_uris', actor({ redirect_uris: ['https://a.example'] })],
      ['settings.openid.response_types', actor({ response_types: ['code'] })],
      ['settings.openid.token_exchange', { ...actor(), confidential: false }],
      ...['subject_resources', 'target_resources'].flatMap((list): [string, object][] => [
        [`settings.openid.token_exchange.${list}`, actor({ token_exchange: exchange({ [list]: [] }) })],
        [
          `settings.openid.token_exchange.${list}[0].resource`,
          actor({ token_exchange: exchange({ [list]: [{ resource: 'x', scopes: ['a:read'] }] }) }),
        ],
        [
          `settings.openid.token_exchange.${list}[0].scopes`,
          actor({ token_exchange: exchange({ [list]: [{ resource: 'https://x.example', scopes: [] }] }) }),
        ],
        [
          `settings.openid.token_exchange.${list}[0].more`,
          actor({
            token_exchange: exchange({ [list]: [{ resource: 'https://x.example', scopes: ['a:read'], more: 1 }] }),
          }),
        ],
      ]),
      ...[29, 301, 60.5, '60'].map((max_access_token_age): [string, object] => [
        'settings.openid.token_exchange.max_access_token_age',
        actor({ token_exchange: exchange({ max_access_token_age }) }),
      ]),
      ['settings.openid.token_exchange.unknown', actor({ token_exchange: exchange({ unknown: 1 }) })],
    ] as [string, object][]) {
      const response = await fixture.owner.post(clients, body)
      expect({ field, status: response.status, fields: errorFieldsOf(response) }).toMatchObject({
        field,
        status: 400,
        fields: expect.arrayContaining([field]),
      })
    }
  })

  test('changing the capability requires issuers.clients:manage on the whole account', async () => {
    const writer = await createRestrictedKey(fixture, {
      scopes: ['issuers.clients:write', 'issuers.clients:read', 'issuers.clients:delete'],
    })
    const bound = await createRestrictedKey(fixture, {
      scopes: ['issuers.clients:manage'],
      issuer_ids: [fixture.issuerId],
    })
    const manager = await createRestrictedKey(fixture, { scopes: ['issuers.clients:manage'] })
    for (const api of [writer, bound]) {
      const response = await api.post(clients, actor())
      expect({ status: response.status, error: response.body.error }).toEqual({
        status: 403,
        error: 'insufficient_scope',
      })
    }
    const client = expectStatus(await manager.post(clients, actor()), 201).data
    const path = `${clients}/${client.id}`
    for (const api of [writer, bound]) {
      expect(
        (await api.patch(path, { settings: { openid: { token_exchange: { max_access_token_age: 60 } } } })).status,
      ).toBe(403)
      expect((await api.patch(path, { settings: { openid: { token_exchange: null } } })).status).toBe(403)
      expect((await api.patch(path, { settings: { openid: null } })).status).toBe(403)
      // A caller without this scope may still change other fields.
      expect((await api.patch(path, { description: uniqueName('d'), settings: { custom: 1 } })).status).toBe(200)
    }
    expectStatus(
      await manager.patch(path, { settings: { openid: { token_exchange: { max_access_token_age: 60 } } } }),
      200,
    )
  })

  test.each(['subject_resources', 'target_resources'])(
    'a caller cannot put scopes that it lacks into %s',
    async (list) => {
      const manager = await createRestrictedKey(fixture, { scopes: ['issuers.clients:manage', 'issuers.users:read'] })
      const entry = (resource: string, ...scopes: string[]) => ({ [list]: [{ resource, scopes }] })
      const refused = { status: 403, error: 'insufficient_scope' }
      const [here, there] = ['https://here.example', 'https://there.example']
      const of = ({ status, body }: { status: number; body: AnyJson }) => ({ status, error: body.error })
      const create = (...scopes: string[]) =>
        manager.post(clients, actor({ token_exchange: exchange(entry(here, ...scopes)) }))
      for (const scope of ['issuers.users:delete', 'svc:all'])
        expect(of(await create('a:read', scope))).toEqual(refused)
      const path = `${clients}/${expectStatus(await create('a:read', 'issuers.users:read'), 201).data.id}`
      const give = (resource: string, ...scopes: string[]) => ({
        settings: { openid: { token_exchange: entry(resource, ...scopes) } },
      })
      expect(of(await manager.patch(path, give(here, 'a:read', 'issuers.users:delete')))).toEqual(refused)
      // `manager` lacks a scope that the owner has granted the client. It may keep that scope in a PATCH, but can neither
      // grant it for another resource nor rotate the secret of the client.
      expectStatus(await fixture.owner.patch(path, give(here, 'a:read', 'issuers.users:delete')), 200)
      expectStatus(await manager.patch(path, give(here, 'b:read', 'issuers.users:delete')), 200)
      expect(of(await manager.patch(path, give(there, 'issuers.users:delete')))).toEqual(refused)
      expect(of(await manager.post(`${path}/secret/rotate`))).toEqual(refused)
      expectStatus(await manager.patch(path, give(there, 'b:read')), 200)
      expectStatus(await manager.post(`${path}/secret/rotate`), 200)
    },
  )
})

describe('secrets', () => {
  const secretsOf = async (id: string) =>
    JSON.stringify((await app.gatehouse.database.prisma.client.findUniqueOrThrow({ where: { id } })).secrets)

  test('a confidential client gets one secret, shown once; a public client gets none', async () => {
    const client = expectStatus(await fixture.owner.post(clients, confidentialClient()), 201).data
    expect(client.secret).toMatch(/^[\w-]{43}$/)
    expect(await secretsOf(client.id)).not.toContain(client.secret)
    for (const response of [
      await fixture.owner.get(`${clients}/${client.id}`),
      await fixture.owner.get(clients),
      await fixture.owner.patch(`${clients}/${client.id}`, { name: 'Renamed' }),
    ]) {
      expect(response.text).not.toContain(client.secret)
      expect(response.text).not.toMatch(/"secrets?"|hash/)
    }
    expect(expectStatus(await fixture.owner.post(clients, publicClient()), 201).data.secret).toBeNull()
  })

  test('a secret supplied by the caller has 32 to 256 printable characters', async () => {
    const own = 'k'.repeat(32)
    expect(expectStatus(await fixture.owner.post(clients, confidentialClient({ secret: own })), 201).data.secret).toBe(
      own,
    )
    expect(
      expectStatus(await fixture.owner.post(clients, confidentialClient({ secret: '~!'.repeat(128) })), 201).data
        .secret,
    ).toHaveLength(256)
    for (const secret of [
      'k'.repeat(31),
      'k'.repeat(257),
      `${'k'.repeat(40)} x`,
      'ü'.repeat(40),
      `${'k'.repeat(40)}\n`,
      '',
    ]) {
      const response = await fixture.owner.post(clients, confidentialClient({ secret }))
      expect({ secret, status: response.status, fields: errorFieldsOf(response) }).toEqual({
        secret,
        status: 400,
        fields: ['secret'],
      })
    }
    for (const secret of [own, ''])
      expect((await fixture.owner.post(clients, publicClient({ secret }))).status).toBe(400)
  })

  test('rotation: confidential clients only, a new secret each time, the old one valid for 15 minutes', async () => {
    const open = expectStatus(await fixture.owner.post(clients, publicClient()), 201).data
    const refused = await fixture.owner.post(`${clients}/${open.id}/secret/rotate`)
    expect({ status: refused.status, error: refused.body.error }).toEqual({ status: 400, error: 'invalid_request' })

    const client = expectStatus(
      await fixture.owner.post(clients, confidentialClient({ settings: { openid: { application_type: 'm2m' } } })),
      201,
    ).data
    const rotated = expectStatus(await fixture.owner.post(`${clients}/${client.id}/secret/rotate`), 200).data
    expect(rotated.secret).not.toBe(client.secret)
    const token = async (secret: string) => {
      const response = await fetch(`${app.idpUrl}/${fixture.issuerId}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${Buffer.from(`${client.id}:${secret}`).toString('base64')}` },
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
      })
      await response.text()
      return response.status
    }
    expect([await token(client.secret), await token(rotated.secret)]).toEqual([200, 200])
    app.clock.advance(15 * 60_000 - 1000)
    expect(await token(client.secret)).toBe(200)
    app.clock.advance(1001)
    expect([await token(client.secret), await token(rotated.secret)]).toEqual([401, 200])
  })

  test('20 parallel rotations all succeed, and each secret is valid', async () => {
    const client = expectStatus(await fixture.owner.post(clients, confidentialClient()), 201).data
    const responses = await Promise.all(
      Array.from({ length: 8 }, () => fixture.owner.post(`${clients}/${client.id}/secret/rotate`)),
    )
    expect(responses.map(({ status }) => status)).toEqual(Array(8).fill(200))
    expect(JSON.parse(await secretsOf(client.id))).toHaveLength(9)
  })
})

describe('states', () => {
  test('update accepts active and disabled; DELETE deletes', async () => {
    const path = `${clients}/${expectStatus(await fixture.owner.post(clients, publicClient()), 201).data.id}`
    expect(expectStatus(await fixture.owner.patch(path, { status: 'disabled' }), 200).data.status).toBe('disabled')
    for (const status of ['deleted', 'suspended', 'x', ''])
      expect((await fixture.owner.patch(path, { status })).status).toBe(400)
    expect((await fixture.owner.delete(path)).status).toBe(204)
    for (const response of [
      await fixture.owner.get(path),
      await fixture.owner.patch(path, { status: 'active' }),
      await fixture.owner.delete(path),
      await fixture.owner.post(`${path}/secret/rotate`),
    ]) {
      expect(response.status).toBe(404)
    }
  })

  test('the list omits deleted clients unless the status filter includes them', async () => {
    const name = uniqueName('Listed')
    const client = expectStatus(await fixture.owner.post(clients, publicClient({ name })), 201).data
    const find = async (query: string) =>
      expectStatus(await fixture.owner.get(`${clients}?name=${name}${query}`), 200).data.map(({ id }: AnyJson) => id)
    expect([
      await find(''),
      await find('&status=active'),
      await find('&status=disabled'),
      await find('&status=deleted'),
    ]).toEqual([[client.id], [client.id], [], []])
    expectStatus(await fixture.owner.delete(`${clients}/${client.id}`), 204)
    expect([await find(''), await find('&status=active'), await find('&status=deleted')]).toEqual([[], [], [client.id]])
    app.clock.advance(31 * DAY + 1)
    expect(await find('&status=deleted')).toEqual([])
  })

  test('the name filter matches substrings in any case and has no wildcards', async () => {
    const word = uniqueName('needle')
    expectStatus(await fixture.owner.post(clients, publicClient({ name: `A 100%_${word.toUpperCase()} B` })), 201)
    const count = async (name: string) =>
      expectStatus(await fixture.owner.get(`${clients}?name=${encodeURIComponent(name)}`), 200).data.length
    expect(await count(word)).toBe(1)
    expect(await count(`0%_${word}`)).toBe(1)
    expect(await count(`%${word}`)).toBe(0)
    expect(await count(`A_100`)).toBe(0)
    expect(await count('\\')).toBe(0)
  })

  test('deleting the issuer deletes its clients and stops serving its endpoints', async () => {
    const issuer = expectStatus(await fixture.owner.post(`${fixture.A}/issuers`, { name: 'Doomed' }), 201).data
    const at = `${fixture.A}/issuers/${issuer.id}/clients`
    const client = expectStatus(await fixture.owner.post(at, publicClient()), 201).data
    expectStatus(await fixture.owner.delete(`${fixture.A}/issuers/${issuer.id}`), 204)
    expect([
      (await fixture.owner.get(at)).status,
      (await fixture.owner.get(`${at}/${client.id}`)).status,
      (await fixture.owner.post(at, publicClient())).status,
    ]).toEqual([404, 404, 404])
    const row = await app.gatehouse.database.prisma.client.findUniqueOrThrow({ where: { id: client.id } })
    expect(row.status).toBe('deleted')
  })
})

test('a caller cannot grant a client platform scopes that it lacks', async () => {
  const writer = await createRestrictedKey(fixture, { scopes: ['issuers.clients:write', 'issuers.users:manage'] })
  for (const scopes of [['issuers.clients:delete'], ['svc:all'], ['issuers.users:manage', 'accounts:read']]) {
    const response = await writer.post(clients, publicClient({ settings: { scopes } }))
    expect({ scopes, status: response.status, error: response.body.error }).toEqual({
      scopes,
      status: 403,
      error: 'insufficient_scope',
    })
  }
  const client = expectStatus(
    await writer.post(clients, publicClient({ settings: { scopes: ['issuers.users:read', 'orders:read', 'openid'] } })),
    201,
  ).data
  const path = `${clients}/${client.id}`
  expect((await writer.patch(path, { settings: { scopes: ['svc:all'] } })).status).toBe(403)
  // A caller may keep platform scopes that it lacks when it changes other fields.
  expectStatus(await fixture.owner.patch(path, { settings: { scopes: ['svc:all'] } }), 200)
  expectStatus(await writer.patch(path, { settings: { scopes: ['svc:all', 'issuers.users:write'], custom: 1 } }), 200)
  expectStatus(await writer.patch(path, { name: 'Renamed' }), 200)
})

test('all documented client fields are returned as they were sent', async () => {
  const body = {
    name: 'Whole',
    type: 'internal',
    confidential: false,
    settings: { scopes: ['openid'] },
    description: '# md',
    logo_url: 'https://x.example/l.png',
    metadata: { a: { b: [1] } },
  }
  const { data } = expectStatus(await fixture.owner.post(clients, body), 201)
  expect(data).toEqual({
    ...body,
    id: expect.stringMatching(/^cli_/),
    account_id: fixture.accountId,
    issuer_id: fixture.issuerId,
    status: 'active',
    secret: null,
    created_at: expect.any(Number),
    updated_at: expect.any(Number),
  })
  const { secret: _, ...shown } = data
  expect((await fixture.owner.get(`${clients}/${data.id}`)).body.data).toEqual(shown)
})
