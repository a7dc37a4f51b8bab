import { expect, test } from '@jest/globals'
import {
  mutations,
  mutationsThatNeverSucceed,
  tenant,
  testNoMutationEscalates,
  untestedMutations,
} from './authority-attacks.js'

testNoMutationEscalates('of a tenant', () => tenant)

test('every mutation succeeds for a caller with all scopes, so the inputs are valid', async () => {
  expect(await mutationsThatNeverSucceed()).toEqual([])
}, 600_000)

test('every exception is a mutation of the schema', () => {
  expect(Object.keys(untestedMutations).filter((name) => !mutations.some((field) => field.name === name))).toEqual([])
})
