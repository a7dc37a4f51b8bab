/**
 * Which organizations a client may see (docs/contract.md#organization-restrictions-of-clients): a table of inputs and
 * results of the functions that decide it.
 */
import { describe, expect, test } from '@jest/globals'
import {
  mayDiscloseOrganization,
  maySelectOrganization,
  metadataDocumentRestriction,
  organizationRestrictionOf,
} from '../../src/resources/clients/organization-restriction.js'

const registered = (organizations?: object) => organizationRestrictionOf({ restrictions: { organizations } } as never)

describe('may tokens of the client name org_a?', () => {
  test.each<[string, ReturnType<typeof registered>, { unselected: boolean; selected: boolean }]>([
    ['no restriction', organizationRestrictionOf({}), { unselected: true, selected: true }],
    ['a list without a policy', registered({ allowed_org_ids: ['org_b'] }), { unselected: true, selected: true }],
    ['none', registered({ policy: 'none' }), { unselected: false, selected: false }],
    [
      'none with a list',
      registered({ policy: 'none', allowed_org_ids: ['org_a'] }),
      { unselected: false, selected: false },
    ],
    [
      'allowlist with it',
      registered({ policy: 'allowlist', allowed_org_ids: ['org_b', 'org_a'] }),
      { unselected: true, selected: true },
    ],
    [
      'allowlist without it',
      registered({ policy: 'allowlist', allowed_org_ids: ['org_b'] }),
      { unselected: false, selected: false },
    ],
    ['allowlist without a list', registered({ policy: 'allowlist' }), { unselected: false, selected: false }],
    ['document, by default', metadataDocumentRestriction(), { unselected: true, selected: true }],
    ['document, all', metadataDocumentRestriction('all'), { unselected: true, selected: true }],
    ['document, selected', metadataDocumentRestriction('selected'), { unselected: false, selected: true }],
    ['document, none', metadataDocumentRestriction('none'), { unselected: false, selected: false }],
  ])('%s', (_, restriction, { unselected, selected }) => {
    expect(mayDiscloseOrganization(restriction, 'org_a', null)).toBe(unselected)
    expect(mayDiscloseOrganization(restriction, 'org_a', 'org_a')).toBe(selected)
    expect(maySelectOrganization(restriction, 'org_a')).toBe(selected)
    // A token for a selected organization never contains another organization.
    expect(mayDiscloseOrganization(restriction, 'org_a', 'org_b')).toBe(false)
  })
})
