import { expect, test } from '@jest/globals'
import {
  mutations,
  mutationsThatNeverSucceed,
  tenant,
  testNoMutationEscalates,
  untestedMutations,
} from './authority-attacks.js'

testNoMutationEscalates('at the issuer of a tenant', () => tenant)

test('each mutation succeeds with at least one input for a caller with all scopes', async () => {
  expect(await mutationsThatNeverSucceed()).toEqual([])
}, 600_000)

test('each untested mutation exists in the schema', () => {
  expect(Object.keys(untestedMutations).filter((name) => !mutations.some((field) => field.name === name))).toEqual([])
})
