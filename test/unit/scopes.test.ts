/** Which scopes the granted scopes include (docs/contract.md#scopes-and-authorization). */
import { describe, expect, test } from '@jest/globals'
import {
  ALL_SCOPES,
  coveredScopes,
  coversScope,
  intersectScopes,
  isPlatformScope,
  missingScopes,
  scopeActions,
  scopeResources,
  scopeTokenPattern,
} from '../../src/kernel/scopes.js'

/** Number of platform scopes. */
const count = Object.keys(scopeResources).length * scopeActions.length + 1

test.each<[string, boolean]>([
  ['svc:all', true],
  ['accounts:read', true],
  ['issuers.users.tokens:manage', true],
  ['orders:read', false],
  ['accounts', false],
  ['accounts:', false],
  ['accounts:update', false],
  ['accounts:READ', false],
  ['svc:read', false],
  ['all', false],
  ['*', false],
  ['', false],
  ['openid', false],
])('%j is a platform scope: %s', (scope, expected) => expect(isPlatformScope(scope)).toBe(expected))

test.each<[string[], string, boolean]>([
  [['issuers:read'], 'issuers:read', true],
  [['issuers:read'], 'issuers:write', false],
  [['issuers:write'], 'issuers:read', false],
  [['issuers:delete'], 'issuers:write', false],
  [['issuers:manage'], 'issuers:read', true],
  [['issuers:manage'], 'issuers:write', true],
  [['issuers:manage'], 'issuers:delete', true],
  [['issuers:read', 'issuers:write', 'issuers:delete'], 'issuers:manage', false],
  // The scope of a resource does not include those of its children or of its parent.
  [['issuers:manage'], 'issuers.users:read', false],
  [['issuers.users:manage'], 'issuers.users.tokens:read', false],
  [['issuers.users:manage'], 'issuers:read', false],
  [['issuers.users:manage'], 'issuers.users:delete', true],
  [['svc:all'], 'issuers.users.verifiers:manage', true],
  [['svc:all'], 'svc:all', true],
  [['accounts:manage'], 'svc:all', false],
  // Not a platform scope, so callers without full authority can grant it.
  [['svc:manage'], 'svc:all', false],
  [[], 'accounts:read', false],
  // `manage` has the same meaning in scopes of applications.
  [['orders:manage'], 'orders:read', true],
  [['orders'], 'orders', true],
  [['orders'], 'orders:read', false],
  [['order:manage'], 'orders', false],
  [[':manage'], '', false],
  [[':manage'], ':read', false],
])('%j includes %s: %s', (granted, required, expected) => expect(coversScope(granted, required)).toBe(expected))

describe('covered and missing scopes', () => {
  test.each<[string[], number]>([
    [[], 0],
    [['orders:read'], 0],
    [['accounts:read'], 1],
    [['accounts:manage'], 4],
    [['accounts:manage', 'accounts:read'], 4],
    [[ALL_SCOPES], count],
  ])('%j covers %i', (granted, covered) => {
    expect(coveredScopes(granted)).toHaveLength(covered)
    expect(missingScopes(granted)).toHaveLength(count - covered)
    expect([...coveredScopes(granted), ...missingScopes(granted)].sort()).toEqual(coveredScopes([ALL_SCOPES]))
  })

  test('coveredScopes returns a sorted list', () => {
    expect(coveredScopes(['accounts:manage'])).toEqual([
      'accounts:delete',
      'accounts:manage',
      'accounts:read',
      'accounts:write',
    ])
    expect(missingScopes(['accounts:manage'])).not.toContain('accounts:read')
    expect(missingScopes(['accounts:read'])).toEqual(expect.arrayContaining(['accounts:manage', ALL_SCOPES]))
  })
})

test.each<[string[], string[], string[]]>([
  [[], ['accounts:read'], []],
  [['accounts:read'], ['accounts:read'], ['accounts:read']],
  [['accounts:manage'], ['accounts:read'], ['accounts:read']],
  [['accounts:read'], ['accounts:manage'], ['accounts:read']],
  [['accounts:read', 'notes:read'], ['svc:all'], ['accounts:read', 'notes:read']],
  [['accounts:read'], ['notes:read'], []],
  [['svc:manage'], ['svc:all'], ['svc:manage']],
  [
    ['accounts:manage', 'notes:read'],
    ['accounts:write', 'notes:manage'],
    ['notes:read', 'accounts:write'],
  ],
])('the intersection of %j and %j is %j', (first, second, intersection) =>
  expect(intersectScopes(first, second)).toEqual(intersection),
)

test.each<[string, boolean]>([
  ['openid', true],
  ['orders:read', true],
  ['https://api.example.com/orders', true],
  ['!', true],
  ['x'.repeat(128), true],
  ['x'.repeat(129), false],
  ['', false],
  ['a b', false],
  ['a"b', false],
  ['a\\b', false],
  ['a\tb', false],
  ['a\n', false],
  ['é', false],
  ['\u007f', false],
])('%j is a scope-token of RFC 6749: %s', (text, expected) => expect(scopeTokenPattern.test(text)).toBe(expected))
