import { expect, test } from '@jest/globals'
import { exceptions, mutations, neverDone, noMutationAddsReach, tenant } from './attack.js'

noMutationAddsReach('of a tenant', () => tenant)

test('every mutation is run to a good end by a caller with all scopes, so that the inputs are good ones', async () => {
  expect(await neverDone()).toEqual([])
}, 600_000)

test('every exception is a mutation of the schema', () => {
  expect(Object.keys(exceptions).filter((name) => !mutations.some((field) => field.name === name))).toEqual([])
})
