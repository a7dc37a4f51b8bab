/** Custom claims (docs/contract.md#custom-claims): tables of settings, and of facts and the claims created from them. */
import { describe, expect, test } from '@jest/globals'
import { limits } from '../../src/kernel/limits.js'
import {
  type CustomClaim,
  customClaimNamesOf,
  customClaimsOf,
  customClaimsRule,
  parseClaimSource,
} from '../../src/resources/claims/custom-claim-rules.js'
import { type ClaimFacts, evaluateCustomClaims } from '../../src/resources/claims/custom-claims.js'

const everywhere: CustomClaim['in'] = ['id_token', 'access_token', 'userinfo']
const claim = (name: string, source: string, places = everywhere): CustomClaim => ({ name, source, in: places })

describe('a source names a field, or a list', () => {
  test.each<[string, object | undefined]>([
    ['user.profile.nickname', { kind: 'user.profile', key: 'nickname' }],
    ['user.metadata.department', { kind: 'user.metadata', key: 'department' }],
    ['user.metadata.a.b', { kind: 'user.metadata', key: 'a.b' }],
    ['user.custom_fields.customer_number', { kind: 'user.custom_fields', key: 'customer_number' }],
    ['organization.metadata.plan', { kind: 'organization.metadata', key: 'plan' }],
    ['organization.id', { kind: 'organization.id' }],
    ['organization.name', { kind: 'organization.name' }],
    ['groups', { kind: 'groups' }],
    ['scopes', { kind: 'scopes' }],
    ['user.metadata.', undefined],
    ['user.metadata', undefined],
    ['user.security.risk', undefined],
    ['user.username', undefined],
    ['organization.description', undefined],
    ['organization.idx', undefined],
    ['groups.name', undefined],
    ['', undefined],
  ])('%s', (text, expected) => {
    expect(parseClaimSource(text)).toEqual(expected)
  })
})

describe('claims_supported lists the custom claims; stored settings that break the rules are ignored', () => {
  test.each<[string, unknown, string[]]>([
    ['none', undefined, []],
    ['two', [claim('a', 'groups'), claim('b', 'scopes')], ['a', 'b']],
    ['a text', 'groups', []],
    ['a registered name', [claim('sub', 'groups')], []],
    ['an unknown source', [claim('a', 'user.password')], []],
  ])('%s', (_, claims, expected) => {
    expect(customClaimNamesOf({ openid: { claims } })).toEqual(expected)
  })
})

test('the claims of a client add to those of the issuer and win by name', () => {
  const settings = (...claims: CustomClaim[]) => ({ openid: { claims } })
  const issuer = settings(claim('team', 'user.metadata.team'), claim('plan', 'organization.metadata.plan'))
  const client = settings(claim('team', 'user.custom_fields.team'), claim('groups', 'groups'))
  expect(customClaimsOf(issuer, {})).toEqual(issuer.openid.claims)
  expect(customClaimsOf({}, client)).toEqual(client.openid.claims)
  expect(customClaimsOf({}, {})).toEqual([])
  expect(customClaimsOf(issuer, client)).toEqual([
    claim('plan', 'organization.metadata.plan'),
    claim('team', 'user.custom_fields.team'),
    claim('groups', 'groups'),
  ])
})

const facts: ClaimFacts = {
  profile: { nickname: 'Ada', address: { country: 'GB' }, locale: null },
  metadata: { department: 'R&D', level: 0, active: false, tags: [], nothing: null, 'a.b': 'dotted', note: '' },
  customFields: { customer_number: 'C-1042' },
  organization: { id: 'org_1', name: 'Tulips', metadata: { plan: 'gold' }, scopes: ['orders:read'] },
  groups: ['admins', 'editors'],
}

describe('each source has its value; a claim without a value is omitted', () => {
  test.each<[string, unknown]>([
    ['user.profile.nickname', 'Ada'],
    ['user.profile.address', { country: 'GB' }],
    ['user.profile.locale', undefined],
    ['user.metadata.department', 'R&D'],
    ['user.metadata.level', 0],
    ['user.metadata.active', false],
    ['user.metadata.note', ''],
    ['user.metadata.a.b', 'dotted'],
    ['user.metadata.tags', undefined],
    ['user.metadata.nothing', undefined],
    ['user.metadata.missing', undefined],
    ['user.metadata.toString', undefined],
    ['user.custom_fields.customer_number', 'C-1042'],
    ['organization.metadata.plan', 'gold'],
    ['organization.metadata.missing', undefined],
    ['organization.id', 'org_1'],
    ['organization.name', 'Tulips'],
    ['groups', ['admins', 'editors']],
    ['scopes', ['orders:read']],
  ])('%s', (source, expected) => {
    const { claims, omitted } = evaluateCustomClaims([claim('c', source)], 'id_token', facts)
    expect(claims).toEqual(expected === undefined ? {} : { c: expected })
    expect(omitted).toEqual(expected === undefined ? [{ name: 'c', place: 'id_token', reason: 'no_value' }] : [])
  })
})

test('a claim is only where it is configured', () => {
  const configured = [claim('a', 'groups', ['access_token']), claim('b', 'groups', ['id_token', 'userinfo'])]
  const namesAt = (place: CustomClaim['in'][number]) =>
    Object.keys(evaluateCustomClaims(configured, place, facts).claims)
  expect(namesAt('access_token')).toEqual(['a'])
  expect(namesAt('id_token')).toEqual(['b'])
  expect(namesAt('userinfo')).toEqual(['b'])
})

test.each(['organization.id', 'organization.name', 'organization.metadata.plan', 'scopes'])(
  'without a selected organization, %s is omitted',
  (source) => {
    const result = evaluateCustomClaims([claim('c', source)], 'userinfo', { ...facts, organization: null })
    expect(result).toEqual({ claims: {}, omitted: [{ name: 'c', place: 'userinfo', reason: 'no_organization' }] })
  },
)

describe('the custom claims are at most 8 KiB as a JSON object', () => {
  const sized = (values: Record<string, unknown>) => {
    const configured = Object.keys(values).map((name) => claim(name, `user.metadata.${name}`))
    return evaluateCustomClaims(configured, 'access_token', { ...facts, metadata: values })
  }
  const bytes = limits.maxCustomClaimBytes

  test('a claim of exactly 8 KiB fits, and one more byte does not', () => {
    const fitting = 'x'.repeat(bytes - '{"a":""}'.length)
    expect(JSON.stringify({ a: fitting })).toHaveLength(bytes)
    expect(sized({ a: fitting }).omitted).toEqual([])
    expect(sized({ a: `${fitting}x` })).toEqual({
      claims: {},
      omitted: [{ name: 'a', place: 'access_token', reason: 'too_large' }],
    })
  })

  test('bytes count, not characters', () => {
    expect(sized({ a: 'é'.repeat(bytes / 2) }).claims).toEqual({})
    expect(sized({ a: 'e'.repeat(bytes / 2) }).omitted).toEqual([])
  })

  test('the claim that would exceed the limit is left out, and a later, smaller claim is kept', () => {
    const { claims, omitted } = sized({ a: 'x'.repeat(6000), b: 'y'.repeat(6000), c: 'z' })
    expect(Object.keys(claims)).toEqual(['a', 'c'])
    expect(omitted).toEqual([{ name: 'b', place: 'access_token', reason: 'too_large' }])
  })

  test.each([2, 3, 10])('%i claims that together have exactly 8 KiB fit', (count) => {
    const names = Array.from({ length: count }, (_, at) => `c${at}`)
    const values = Object.fromEntries(names.map((name) => [name, '']))
    values['c0'] = 'x'.repeat(bytes - JSON.stringify(values).length)
    expect(JSON.stringify(values)).toHaveLength(bytes)
    expect(sized(values).omitted).toEqual([])
    expect(sized({ ...values, c0: `${values['c0']}x` }).omitted).toHaveLength(1)
  })
})

test('names that begin with a letter and contain printable characters of URIs are valid', () => {
  const names = ['department', 'https://example.com/claims/team', 'urn:example:team', 'x-y_z.1~', 'groups', 'roles']
  for (const name of names) expect(customClaimsRule.safeParse([claim(name, 'groups')]).error?.issues).toBeUndefined()
})
