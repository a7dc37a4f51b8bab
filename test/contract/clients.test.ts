/** Clients (spec 2.5, 4.5, 4.16, section 3, decisions D7, D16, D29, D34). */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { keyWith, must } from '../setup/actors.js'
import type { Loose } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { confidentialClient, fresh, makeWorld, publicClient, type World } from './world.js'

const DAY = 86_400_000
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'

let app: TestApp
let world: World
let clients: string
beforeAll(async () => {
  app = await startApp()
  world = await makeWorld(app)
  clients = `${world.I}/clients`
})
afterAll(() => app.close())

const withOpenid = (openid: object, more: object = {}) => publicClient({ settings: { openid }, ...more })
const fields = (answer: { body: Loose }): string[] => (answer.body.details ?? []).map(({ field }: Loose) => field)

type Verdicts = Partial<Record<'web' | 'spa' | 'native', boolean>>
const everywhere: Verdicts = { web: true, spa: true, native: true }
const nowhere: Verdicts = { web: false, spa: false, native: false }
const nativeOnly: Verdicts = { web: false, spa: false, native: true }

/** By rule of 4.16: what may be registered by which type of application. */
const callbacks: Record<string, [string, Verdicts][]> = {
  'rule 1: https, and http on exact loopback hosts': [
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
  'rule 2: private-use schemes are for native clients': [
    ['com.example.app:/oauth2redirect', nativeOnly],
    ['com.example.app://callback', nativeOnly],
    ['com.example.app:/cb?x=1', nativeOnly],
    ['org.example-corp.app2:/cb', nativeOnly],
  ],
  'rule 2: a scheme without a domain is refused': [
    ['myapp:/cb', nowhere],
    ['myapp://cb', nowhere],
    ['myapp:cb', nowhere],
    ['urn:ietf:wg:oauth:2.0:oob', nowhere],
  ],
  'rule 4: javascript:, data:, file: and other schemes': [
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
  'rule 4: remote http; loopback hosts are exact': [
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
  'rule 4: credentials, fragments, whitespace, control characters, backslashes': [
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
  'rule 4: what a parser would quietly repair, or read in two ways': [
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
  values.map(([uri, verdicts]) => ({ rule, uri, verdicts })),
)

describe('callback rules (spec 4.16)', () => {
  test.each(rows)('4.16 $rule: $uri', async ({ uri, verdicts }) => {
    for (const [application_type, good] of Object.entries(verdicts)) {
      for (const list of ['redirect_uris', 'post_logout_redirect_uris']) {
        const confidential = application_type === 'web'
        const answer = await world.owner.post(
          clients,
          withOpenid({ application_type, [list]: [uri] }, { confidential }),
        )
        expect({
          application_type,
          list,
          status: answer.status,
          text: good && answer.status !== 201 ? answer.text : '',
        }).toEqual({
          application_type,
          list,
          status: good ? 201 : 400,
          text: '',
        })
        if (good) expect(answer.body.data.settings.openid[list]).toEqual([uri])
        else expect(fields(answer)).toEqual([`settings.openid.${list}[0]`])
      }
    }
  })

  test('the table holds at least 60 hostile values', () => {
    expect(rows.filter(({ verdicts }) => verdicts === nowhere).length).toBeGreaterThanOrEqual(60)
  })

  test.each(['web', 'spa', 'native'] as const)('4.16 rules 1, 2 and 4 hold at an update: %s', async (type) => {
    const confidential = type === 'web'
    const made = must(
      await world.owner.post(clients, withOpenid({ application_type: type }, { confidential })),
      201,
    ).data
    for (const { rule, uri, verdicts } of rows) {
      const openid = { redirect_uris: [uri], post_logout_redirect_uris: [uri] }
      const answer = await world.owner.patch(`${clients}/${made.id}`, { settings: { openid } })
      const lists = ['redirect_uris', 'post_logout_redirect_uris'].map((list) => `settings.openid.${list}[0]`)
      const good = verdicts[type]
      expect({ rule, uri, status: answer.status, fields: fields(answer) }).toEqual({
        rule,
        uri,
        status: good ? 200 : 400,
        fields: good ? [] : lists,
      })
    }
  })

  test('4.16 rule 3: m2m clients have no redirect URIs', async () => {
    const m2m = { application_type: 'm2m', redirect_uris: ['https://app.example.com/cb'] }
    const answer = await world.owner.post(clients, withOpenid(m2m, { confidential: true }))
    expect({ status: answer.status, fields: fields(answer) }).toEqual({
      status: 400,
      fields: ['settings.openid.redirect_uris'],
    })
    expect(
      (await world.owner.post(clients, withOpenid({ ...m2m, redirect_uris: [] }, { confidential: true }))).status,
    ).toBe(201)
  })

  test('4.16: each fault is told with its place, all at once', async () => {
    const answer = await world.owner.post(
      clients,
      withOpenid({
        redirect_uris: ['https://a.example', 'x', 'http://b.example'],
        post_logout_redirect_uris: ['javascript:1'],
      }),
    )
    expect(fields(answer)).toEqual([
      'settings.openid.redirect_uris[1]',
      'settings.openid.redirect_uris[2]',
      'settings.openid.post_logout_redirect_uris[0]',
    ])
  })

  test('4.16: an update obeys the same rules; changing the application type judges the stored callbacks anew', async () => {
    const made = must(
      await world.owner.post(
        clients,
        withOpenid({ application_type: 'native', redirect_uris: ['com.example.app:/cb'] }),
      ),
      201,
    ).data
    const path = `${clients}/${made.id}`
    for (const openid of [
      { redirect_uris: ['http://b.example'] },
      { application_type: 'spa' },
      { application_type: 'web' },
    ]) {
      expect((await world.owner.patch(path, { settings: { openid } })).status).toBe(400)
    }
    expect((await world.owner.get(path)).body.data).toMatchObject({
      settings: made.settings,
      updated_at: made.updated_at,
    })
    must(
      await world.owner.patch(path, {
        settings: { openid: { application_type: 'spa', redirect_uris: ['https://a.example/'] } },
      }),
      200,
    )
  })

  test('4.16 rule 5: an empty list is allowed for an incomplete client', async () => {
    const made = must(await world.owner.post(clients, withOpenid({ redirect_uris: [] })), 201).data
    must(
      await world.owner.patch(`${clients}/${made.id}`, { settings: { openid: { post_logout_redirect_uris: [] } } }),
      200,
    )
  })

  test('4.16 rule 5: re-enabling a disabled client requires both lists valid', async () => {
    const made = must(
      await world.owner.post(clients, withOpenid({ redirect_uris: ['https://a.example/cb'] })),
      201,
    ).data
    const path = `${clients}/${made.id}`
    must(await world.owner.patch(path, { status: 'disabled' }), 200)
    for (const list of ['redirect_uris', 'post_logout_redirect_uris']) {
      // As a row looks that was written before a rule became stricter.
      const settings = { openid: { [list]: ['http://remote.example/cb'] } }
      await app.gatehouse.tools.prisma.client.update({ where: { id: made.id }, data: { settings } })
      const answer = await world.owner.patch(path, { status: 'active' })
      expect({ status: answer.status, fields: fields(answer) }).toEqual({
        status: 400,
        fields: [`settings.openid.${list}[0]`],
      })
      // Other changes of a disabled client stay possible.
      expect((await world.owner.patch(path, { name: fresh('Renamed') })).status).toBe(200)
      await app.gatehouse.tools.prisma.client.update({ where: { id: made.id }, data: { settings: {} } })
    }
    expect(must(await world.owner.patch(path, { status: 'active' }), 200).data.status).toBe('active')
  })
})

describe('settings', () => {
  const refused: [string, object, string][] = [
    ['an unknown application type', { openid: { application_type: 'desktop' } }, 'settings.openid.application_type'],
    ['an unknown grant', { openid: { grant_types: ['password'] } }, 'settings.openid.grant_types[0]'],
    ['the implicit grant', { openid: { grant_types: ['implicit'] } }, 'settings.openid.grant_types[0]'],
    ['an unknown algorithm', { openid: { response_signature_alg: 'HS256' } }, 'settings.openid.response_signature_alg'],
    ['alg none', { openid: { response_signature_alg: 'none' } }, 'settings.openid.response_signature_alg'],
    ['a list that is none', { openid: { redirect_uris: 'https://a.example' } }, 'settings.openid.redirect_uris'],
    [
      '101 callbacks',
      { openid: { redirect_uris: Array.from({ length: 101 }, (_, i) => `https://a.example/${i}`) } },
      'settings.openid.redirect_uris',
    ],
    [
      'a resource that is no URI',
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
      'an organization that is none of the issuer',
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
          // null removes a key (RFC 7396), so it is no fault there.
          value === null
            ? []
            : [
                [`${name} ${value}`, { [name]: value }, `settings.${name}`],
                [`openid.${name} ${value}`, { openid: { [name]: value } }, `settings.openid.${name}`],
              ],
        ),
    ),
    [
      'ages that contradict each other',
      { default_access_token_age: 60, openid: { default_access_token_age: 61 } },
      'settings.default_access_token_age',
    ],
  ]
  test.each(refused)('%s is 400', async (_, settings, field) => {
    const answer = await world.owner.post(clients, publicClient({ settings }))
    expect({ status: answer.status, fields: fields(answer) }).toMatchObject({
      status: 400,
      fields: expect.arrayContaining([field]),
    })
    const made = must(await world.owner.post(clients, publicClient()), 201).data
    expect((await world.owner.patch(`${clients}/${made.id}`, { settings })).status).toBe(400)
  })

  test('ages from 1 second to 21 days are kept as they were given', async () => {
    const settings = {
      default_access_token_age: 1,
      default_id_token_age: 1_814_400,
      openid: { default_refresh_token_age: 1_814_400 },
    }
    expect(must(await world.owner.post(clients, publicClient({ settings })), 201).data.settings).toEqual(settings)
  })

  test('unknown keys are kept, at every level', async () => {
    const settings = {
      custom: { a: [1, null, 'x'] },
      openid: { custom: true },
      restrictions: { organizations: { custom: 1 } },
    }
    expect(must(await world.owner.post(clients, publicClient({ settings })), 201).data.settings).toEqual(settings)
  })

  test('rule 7: ids of organizations are checked when they are added; one that was deleted since blocks nothing', async () => {
    const organization = async () => must(await world.owner.post(`${world.I}/organizations`, {}), 201).data.id
    const [gone, kept] = [await organization(), await organization()]
    const allow = (...allowed_org_ids: string[]) => ({
      settings: { restrictions: { organizations: { policy: 'allowlist', allowed_org_ids } } },
    })
    const path = `${clients}/${must(await world.owner.post(clients, publicClient(allow(gone))), 201).data.id}`
    must(await world.owner.delete(`${world.I}/organizations/${gone}`), 204)
    must(await world.owner.patch(path, { settings: { custom: 1 } }), 200)
    must(await world.owner.patch(path, { status: 'disabled' }), 200)
    // 4.16 rule 5: for that both callback lists must be valid, and nothing else.
    must(await world.owner.patch(path, { status: 'active' }), 200)
    must(await world.owner.patch(path, allow(gone, kept)), 200)
    const answer = await world.owner.patch(path, allow(gone, kept, `org_${'0'.repeat(26)}`))
    expect({ status: answer.status, fields: fields(answer) }).toEqual({
      status: 400,
      fields: ['settings.restrictions.organizations.allowed_org_ids[2]'],
    })
    // Once out of the list it does not come back.
    must(await world.owner.patch(path, allow(kept)), 200)
    expect((await world.owner.patch(path, allow(gone, kept))).status).toBe(400)
  })

  test('PATCH is a JSON Merge Patch: null removes, arrays are replaced, sections not named stay', async () => {
    const settings = { a: { b: 1, c: [1, 2] }, d: 1, openid: { redirect_uris: ['https://a.example/'] } }
    const made = must(await world.owner.post(clients, publicClient({ settings })), 201).data
    const patched = must(
      await world.owner.patch(`${clients}/${made.id}`, {
        settings: { a: { b: null, c: [3] }, d: null, e: { f: null, g: 2 } },
      }),
      200,
    ).data
    expect(patched.settings).toEqual({ a: { c: [3] }, e: { g: 2 }, openid: { redirect_uris: ['https://a.example/'] } })
  })

  test('metadata and other objects are replaced whole', async () => {
    const made = must(await world.owner.post(clients, publicClient({ metadata: { a: 1, b: 2 } })), 201).data
    expect(
      must(await world.owner.patch(`${clients}/${made.id}`, { metadata: { c: null } }), 200).data.metadata,
    ).toEqual({ c: null })
  })
})

describe('D34: settings.security.redirect_uri_rules of the issuer', () => {
  const rules = async (redirect_uri_rules: object | null, at = world.I) =>
    must(await world.owner.patch(at, { settings: { security: { redirect_uri_rules } } }), 200)
  afterEach(() => rules(null))
  const [APP, LOOPBACK, PRIVATE] = ['https://app.example.com/cb', 'http://127.0.0.1/cb', 'com.example.app:/cb']
  const native = (redirect_uris: string[], openid: object = {}) =>
    withOpenid({ application_type: 'native', redirect_uris, ...openid })
  const make = async (redirect_uris: string[]) => must(await world.owner.post(clients, native(redirect_uris)), 201).data

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
      'all at once',
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
        for (const answer of [
          await world.owner.post(clients, withOpenid(openid)),
          await world.owner.patch(`${clients}/${before.id}`, { settings: { openid } }),
        ]) {
          if (refused.length === 0) {
            expect([200, 201]).toContain(answer.status)
            continue
          }
          expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request'])
          expect(answer.body.details).toEqual(
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

  test('rules narrow spec 4.16, they do not widen it', async () => {
    await rules({ allow_loopback: true, allow_private_use_schemes: true, allowed_hosts: ['evil.example'] })
    for (const uri of ['http://evil.example/cb', 'https://evil.example/cb#x', 'myapp:/cb', 'javascript:alert(1)'])
      expect(fields(await world.owner.post(clients, native([uri])))).toEqual(['settings.openid.redirect_uris[0]'])
    expect(fields(await world.owner.post(clients, withOpenid({ redirect_uris: [PRIVATE] })))).toEqual([
      'settings.openid.redirect_uris[0]',
    ])
  })

  test('an existing client works on, is renamed and disabled; its settings do not change, nor is it enabled, until it complies', async () => {
    const path = `${clients}/${(await make([APP, LOOPBACK])).id}`
    await rules({ allow_loopback: false })
    must(await world.owner.patch(path, { name: 'Renamed', metadata: { a: 1 } }), 200)
    expect(fields(await world.owner.patch(path, { settings: { custom: 1 } }))).toEqual([
      'settings.openid.redirect_uris[1]',
    ])
    must(await world.owner.patch(path, { status: 'disabled' }), 200)
    expect(fields(await world.owner.patch(path, { status: 'active' }))).toEqual(['settings.openid.redirect_uris[1]'])
    const settings = { openid: { redirect_uris: [APP] } }
    must(await world.owner.patch(path, { status: 'active', settings }), 200)
  })

  test('rules of another issuer of the account do not count', async () => {
    const other = must(await world.owner.post(`${world.A}/issuers`, { name: fresh('Issuer') }), 201).data
    await rules({ allow_loopback: false }, `${world.A}/issuers/${other.id}`)
    await make([LOOPBACK])
    expect((await world.owner.post(`${world.A}/issuers/${other.id}/clients`, native([LOOPBACK]))).status).toBe(400)
  })
})

describe('token exchange (spec 4.18 rule 3)', () => {
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

  test('an actor is confidential, m2m, and does nothing else', async () => {
    must(await world.owner.post(clients, actor()), 201)
    must(await world.owner.post(clients, actor({ token_exchange: exchange({ max_access_token_age: 30 }) })), 201)
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
      const answer = await world.owner.post(clients, body)
      expect({ field, status: answer.status, fields: fields(answer) }).toMatchObject({
        field,
        status: 400,
        fields: expect.arrayContaining([field]),
      })
    }
  })

  test('the capability changes only by issuers.clients:manage on the whole account', async () => {
    const writer = await keyWith(world, {
      scopes: ['issuers.clients:write', 'issuers.clients:read', 'issuers.clients:delete'],
    })
    const bound = await keyWith(world, { scopes: ['issuers.clients:manage'], issuer_ids: [world.issuerId] })
    const manager = await keyWith(world, { scopes: ['issuers.clients:manage'] })
    for (const api of [writer, bound]) {
      const answer = await api.post(clients, actor())
      expect({ status: answer.status, error: answer.body.error }).toEqual({ status: 403, error: 'insufficient_scope' })
    }
    const made = must(await manager.post(clients, actor()), 201).data
    const path = `${clients}/${made.id}`
    for (const api of [writer, bound]) {
      expect(
        (await api.patch(path, { settings: { openid: { token_exchange: { max_access_token_age: 60 } } } })).status,
      ).toBe(403)
      expect((await api.patch(path, { settings: { openid: { token_exchange: null } } })).status).toBe(403)
      expect((await api.patch(path, { settings: { openid: null } })).status).toBe(403)
      // What does not touch it stays theirs.
      expect((await api.patch(path, { description: fresh('d'), settings: { custom: 1 } })).status).toBe(200)
    }
    must(await manager.patch(path, { settings: { openid: { token_exchange: { max_access_token_age: 60 } } } }), 200)
  })

  test.each(['subject_resources', 'target_resources'])(
    'rule 9: nobody puts scopes that they lack into %s',
    async (list) => {
      const manager = await keyWith(world, { scopes: ['issuers.clients:manage', 'issuers.users:read'] })
      const entry = (resource: string, ...scopes: string[]) => ({ [list]: [{ resource, scopes }] })
      const refused = { status: 403, error: 'insufficient_scope' }
      const [here, there] = ['https://here.example', 'https://there.example']
      const of = ({ status, body }: { status: number; body: Loose }) => ({ status, error: body.error })
      const create = (...scopes: string[]) =>
        manager.post(clients, actor({ token_exchange: exchange(entry(here, ...scopes)) }))
      for (const scope of ['issuers.users:delete', 'svc:all'])
        expect(of(await create('a:read', scope))).toEqual(refused)
      const path = `${clients}/${must(await create('a:read', 'issuers.users:read'), 201).data.id}`
      const give = (resource: string, ...scopes: string[]) => ({
        settings: { openid: { token_exchange: entry(resource, ...scopes) } },
      })
      expect(of(await manager.patch(path, give(here, 'a:read', 'issuers.users:delete')))).toEqual(refused)
      // What a stronger caller has granted stays where it is, goes nowhere else, and keeps its secret.
      must(await world.owner.patch(path, give(here, 'a:read', 'issuers.users:delete')), 200)
      must(await manager.patch(path, give(here, 'b:read', 'issuers.users:delete')), 200)
      expect(of(await manager.patch(path, give(there, 'issuers.users:delete')))).toEqual(refused)
      expect(of(await manager.post(`${path}/secret/rotate`))).toEqual(refused)
      must(await manager.patch(path, give(there, 'b:read')), 200)
      must(await manager.post(`${path}/secret/rotate`), 200)
    },
  )
})

describe('secrets', () => {
  const secretsOf = async (id: string) =>
    JSON.stringify((await app.gatehouse.tools.prisma.client.findUniqueOrThrow({ where: { id } })).secrets)

  test('a confidential client gets one, once; a public one gets none', async () => {
    const made = must(await world.owner.post(clients, confidentialClient()), 201).data
    expect(made.secret).toMatch(/^[\w-]{43}$/)
    expect(await secretsOf(made.id)).not.toContain(made.secret)
    for (const answer of [
      await world.owner.get(`${clients}/${made.id}`),
      await world.owner.get(clients),
      await world.owner.patch(`${clients}/${made.id}`, { name: 'Renamed' }),
    ]) {
      expect(answer.text).not.toContain(made.secret)
      expect(answer.text).not.toMatch(/"secrets?"|hash/)
    }
    expect(must(await world.owner.post(clients, publicClient()), 201).data.secret).toBeNull()
  })

  test('one of the caller’s own has 32 to 256 printable characters', async () => {
    const own = 'k'.repeat(32)
    expect(must(await world.owner.post(clients, confidentialClient({ secret: own })), 201).data.secret).toBe(own)
    expect(
      must(await world.owner.post(clients, confidentialClient({ secret: '~!'.repeat(128) })), 201).data.secret,
    ).toHaveLength(256)
    for (const secret of [
      'k'.repeat(31),
      'k'.repeat(257),
      `${'k'.repeat(40)} x`,
      'ü'.repeat(40),
      `${'k'.repeat(40)}\n`,
      '',
    ]) {
      const answer = await world.owner.post(clients, confidentialClient({ secret }))
      expect({ secret, status: answer.status, fields: fields(answer) }).toEqual({
        secret,
        status: 400,
        fields: ['secret'],
      })
    }
    for (const secret of [own, '']) expect((await world.owner.post(clients, publicClient({ secret }))).status).toBe(400)
  })

  test('rotation: confidential clients only, a new secret each time, the old one good for 15 minutes', async () => {
    const open = must(await world.owner.post(clients, publicClient()), 201).data
    const refused = await world.owner.post(`${clients}/${open.id}/secret/rotate`)
    expect({ status: refused.status, error: refused.body.error }).toEqual({ status: 400, error: 'invalid_request' })

    const made = must(
      await world.owner.post(clients, confidentialClient({ settings: { openid: { application_type: 'm2m' } } })),
      201,
    ).data
    const rotated = must(await world.owner.post(`${clients}/${made.id}/secret/rotate`), 200).data
    expect(rotated.secret).not.toBe(made.secret)
    const token = async (secret: string) => {
      const response = await fetch(`${app.idpUrl}/${world.issuerId}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${Buffer.from(`${made.id}:${secret}`).toString('base64')}` },
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
      })
      await response.text()
      return response.status
    }
    expect([await token(made.secret), await token(rotated.secret)]).toEqual([200, 200])
    app.clock.advance(15 * 60_000 - 1000)
    expect(await token(made.secret)).toBe(200)
    app.clock.advance(1001)
    expect([await token(made.secret), await token(rotated.secret)]).toEqual([401, 200])
  })

  test('20 parallel rotations all answer, and each secret is in force', async () => {
    const made = must(await world.owner.post(clients, confidentialClient()), 201).data
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => world.owner.post(`${clients}/${made.id}/secret/rotate`)),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
    expect(JSON.parse(await secretsOf(made.id))).toHaveLength(9)
  })
})

describe('states', () => {
  test('update accepts active and disabled; deletion is DELETE', async () => {
    const path = `${clients}/${must(await world.owner.post(clients, publicClient()), 201).data.id}`
    expect(must(await world.owner.patch(path, { status: 'disabled' }), 200).data.status).toBe('disabled')
    for (const status of ['deleted', 'suspended', 'x', ''])
      expect((await world.owner.patch(path, { status })).status).toBe(400)
    expect((await world.owner.delete(path)).status).toBe(204)
    for (const answer of [
      await world.owner.get(path),
      await world.owner.patch(path, { status: 'active' }),
      await world.owner.delete(path),
      await world.owner.post(`${path}/secret/rotate`),
    ]) {
      expect(answer.status).toBe(404)
    }
  })

  test('the list leaves deleted ones out unless asked for by status', async () => {
    const name = fresh('Listed')
    const made = must(await world.owner.post(clients, publicClient({ name })), 201).data
    const find = async (query: string) =>
      must(await world.owner.get(`${clients}?name=${name}${query}`), 200).data.map(({ id }: Loose) => id)
    expect([
      await find(''),
      await find('&status=active'),
      await find('&status=disabled'),
      await find('&status=deleted'),
    ]).toEqual([[made.id], [made.id], [], []])
    must(await world.owner.delete(`${clients}/${made.id}`), 204)
    expect([await find(''), await find('&status=active'), await find('&status=deleted')]).toEqual([[], [], [made.id]])
    app.clock.advance(31 * DAY + 1)
    expect(await find('&status=deleted')).toEqual([])
  })

  test('name is contained in any case, and has no wildcards', async () => {
    const word = fresh('needle')
    must(await world.owner.post(clients, publicClient({ name: `A 100%_${word.toUpperCase()} B` })), 201)
    const count = async (name: string) =>
      must(await world.owner.get(`${clients}?name=${encodeURIComponent(name)}`), 200).data.length
    expect(await count(word)).toBe(1)
    expect(await count(`0%_${word}`)).toBe(1)
    expect(await count(`%${word}`)).toBe(0)
    expect(await count(`A_100`)).toBe(0)
    expect(await count('\\')).toBe(0)
  })

  test('deleting the issuer deletes its clients and ends their addresses', async () => {
    const issuer = must(await world.owner.post(`${world.A}/issuers`, { name: 'Doomed' }), 201).data
    const at = `${world.A}/issuers/${issuer.id}/clients`
    const made = must(await world.owner.post(at, publicClient()), 201).data
    must(await world.owner.delete(`${world.A}/issuers/${issuer.id}`), 204)
    expect([
      (await world.owner.get(at)).status,
      (await world.owner.get(`${at}/${made.id}`)).status,
      (await world.owner.post(at, publicClient())).status,
    ]).toEqual([404, 404, 404])
    const row = await app.gatehouse.tools.prisma.client.findUniqueOrThrow({ where: { id: made.id } })
    expect(row.status).toBe('deleted')
  })
})

test('nobody grants what they lack: platform scopes of a client', async () => {
  const writer = await keyWith(world, { scopes: ['issuers.clients:write', 'issuers.users:manage'] })
  for (const scopes of [['issuers.clients:delete'], ['svc:all'], ['issuers.users:manage', 'accounts:read']]) {
    const answer = await writer.post(clients, publicClient({ settings: { scopes } }))
    expect({ scopes, status: answer.status, error: answer.body.error }).toEqual({
      scopes,
      status: 403,
      error: 'insufficient_scope',
    })
  }
  const made = must(
    await writer.post(clients, publicClient({ settings: { scopes: ['issuers.users:read', 'orders:read', 'openid'] } })),
    201,
  ).data
  const path = `${clients}/${made.id}`
  expect((await writer.patch(path, { settings: { scopes: ['svc:all'] } })).status).toBe(403)
  // What a stronger caller has granted stays when a weaker one changes something else.
  must(await world.owner.patch(path, { settings: { scopes: ['svc:all'] } }), 200)
  must(await writer.patch(path, { settings: { scopes: ['svc:all', 'issuers.users:write'], custom: 1 } }), 200)
  must(await writer.patch(path, { name: 'Renamed' }), 200)
})

test('all fields of spec 2.5 come back as they were given', async () => {
  const body = {
    name: 'Whole',
    type: 'internal',
    confidential: false,
    settings: { scopes: ['openid'] },
    description: '# md',
    logo_url: 'https://x.example/l.png',
    metadata: { a: { b: [1] } },
  }
  const { data } = must(await world.owner.post(clients, body), 201)
  expect(data).toEqual({
    ...body,
    id: expect.stringMatching(/^cli_/),
    account_id: world.accountId,
    issuer_id: world.issuerId,
    status: 'active',
    secret: null,
    created_at: expect.any(Number),
    updated_at: expect.any(Number),
  })
  const { secret: _, ...shown } = data
  expect((await world.owner.get(`${clients}/${data.id}`)).body.data).toEqual(shown)
})
