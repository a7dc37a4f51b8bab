/**
 * TOTP enrollment, TOTP codes and backup codes (docs/contract.md#credentials, docs/contract.md#verifier-operations,
 * docs/contract.md#single-use-values).
 */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { consumeBackupCode } from '../../src/resources/credentials/backup-codes.js'
import { purgeEnrollments } from '../../src/resources/credentials/enrollments.js'
import { consumeTotpCode } from '../../src/resources/credentials/totp.js'
import { createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import type { ApiClient } from '../setup/api.js'
import { eventsRecordedFromNow } from '../setup/recorded-events.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { totpCode } from '../setup/totp.js'
import { uniqueName } from './tenant-fixture.js'

let app: TestApp
let mine: Tenant
let theirs: Tenant
let owner: ApiClient
let username: string
let path: string
let place: { issuerId: string; userId: string }

beforeAll(async () => {
  app = await startApp({ roles: ['core'] })
  mine = await createTenant(app, 'Mine')
  theirs = await createTenant(app, 'Theirs')
  owner = mine.owner
})
afterAll(() => app.close())
beforeEach(async () => {
  username = `${uniqueName('ada')}@example.com`
  const { data } = expectStatus(await owner.post(`${mine.I}/users`, { username_type: 'email', username }), 201)
  path = `${mine.I}/users/${data.id}/verifiers`
  place = { issuerId: mine.issuerId, userId: data.id }
})

const begin = async (more: object = {}) =>
  expectStatus(await owner.post(path, { type: 'totp_enrollment', issuer_name: 'Acme & Co', ...more }), 201).data
const complete = (enrollment_id: unknown, code: unknown, headers = {}) =>
  owner.post(`${path}/complete-enrollment`, { enrollment_id, code }, headers)
const codeOf = (secret: string, step = 0) => totpCode(secret, app.clock.now(), step)
/** Returns a code that differs from the three codes currently accepted. */
const wrongCode = (secret: string) =>
  ['000000', '000001', '000002', '000003'].find((code) => ![-1, 0, 1].some((step) => codeOf(secret, step) === code))!
const enrolled = async () => {
  const { enrollment_id, secret } = await begin()
  const { data } = expectStatus(await complete(enrollment_id, codeOf(secret)), 200)
  return { secret, id: data.id as string }
}
const context = () => systemContext(app.gatehouse)

test('totp_enrollment returns a secret and a URI once; the user has no verifier yet', async () => {
  const heard = await eventsRecordedFromNow(app, mine.accountId)
  const response = await owner.post(path, { type: 'totp_enrollment', issuer_name: 'Acme & Co', name: 'Phone' })
  expect(response.status).toBe(201)
  const { data } = response.body
  expect(data).toMatchObject({ id: data.enrollment_id, type: 'totp_enrollment', name: 'Phone' })
  // The secret has 160 bits, in base32 without padding.
  expect(data.secret).toMatch(/^[A-Z2-7]{32}$/)
  expect(data.provisioning_uri).toBe(
    `otpauth://totp/Acme%20%26%20Co:${encodeURIComponent(username)}?secret=${data.secret}&issuer=Acme%20%26%20Co&algorithm=SHA1&digits=6&period=30`,
  )
  expect(data.expires_at - data.created_at).toBe(600_000)
  expect((await owner.get(path)).body.data).toEqual([])
  expect((await owner.get(`${path}/${data.id}`)).status).toBe(404)
  expect(await heard()).toEqual([])
  const row = await app.gatehouse.database.prisma.enrollment.findUniqueOrThrow({ where: { id: data.id } })
  expect(JSON.stringify(row, (_, v) => (typeof v === 'bigint' ? Number(v) : v))).not.toContain(data.secret)
})

test.each([
  [undefined, 'required'],
  ['', 'too_small'],
  ['a:b', 'invalid_format'],
  ['x'.repeat(101), 'too_big'],
])('issuer_name %j is 400', async (issuer_name, code) => {
  const response = await owner.post(path, { type: 'totp_enrollment', issuer_name })
  expect(response.status).toBe(400)
  expect(response.body.details[0]).toMatchObject({ field: 'issuer_name' })
  if (code !== 'required') expect(response.body.details[0].code).toBe(code)
})

test('complete-enrollment with the code creates a totp verifier with the name of the enrollment', async () => {
  const heard = await eventsRecordedFromNow(app, mine.accountId)
  const { enrollment_id, secret } = await begin({ name: 'Phone', description: 'D', metadata: { a: 1 } })
  const response = await complete(enrollment_id, codeOf(secret))
  expect(response.status).toBe(200)
  const { data } = response.body
  expect(data).toMatchObject({ type: 'totp', name: 'Phone', description: 'D', metadata: { a: 1 } })
  expect(response.headers.get('etag')).toBe(`"${data.updated_at}"`)
  expect(response.text).not.toContain(secret)
  expect((await owner.get(`${path}/${data.id}`)).body.data).toMatchObject({ id: data.id, type: 'totp' })
  const events = await heard()
  expect(events).toMatchObject([{ type: 'user.verifier.created', target: { id: data.id }, data: { type: 'totp' } }])
  expect(JSON.stringify(events)).not.toContain(secret)
  // The completed enrollment no longer exists.
  expect((await complete(enrollment_id, codeOf(secret, 1))).status).toBe(404)
  expectStatus(await owner.patch(`${path}/${data.id}`, { name: 'Watch' }), 200)
  expect((await owner.patch(`${path}/${data.id}`, { expires_at: 5 })).status).toBe(400)
  expectStatus(await owner.delete(`${path}/${data.id}`), 204)
  await enrolled()
})

test('a wrong code is 400, the sixth attempt 404, whatever its code', async () => {
  const { enrollment_id, secret } = await begin()
  for (let n = 0; n < 5; n++) {
    const response = await complete(enrollment_id, wrongCode(secret))
    expect(response.status).toBe(400)
    expect(response.body).toMatchObject({ error: 'invalid_request', details: [{ field: 'code', code: 'wrong_code' }] })
  }
  expect((await complete(enrollment_id, codeOf(secret))).status).toBe(404)
})

test('of 20 parallel wrong codes five count as attempts', async () => {
  const { enrollment_id, secret } = await begin()
  const responses = await Promise.all(Array.from({ length: 20 }, () => complete(enrollment_id, wrongCode(secret))))
  expect(responses.map(({ status }) => status).sort()).toEqual([...Array(5).fill(400), ...Array(15).fill(404)])
})

test('of 20 parallel correct codes one creates a totp verifier', async () => {
  const { enrollment_id, secret } = await begin()
  const code = codeOf(secret)
  const responses = await Promise.all(Array.from({ length: 20 }, () => complete(enrollment_id, code)))
  const statuses = responses.map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(1)
  expect(statuses.every((status) => [200, 404, 409].includes(status))).toBe(true)
  expect((await owner.get(path)).body.data).toHaveLength(1)
})

test('an enrollment is valid for 10 minutes; codes may be one step off', async () => {
  const late = await begin()
  app.clock.advance(599_000)
  const last = await begin()
  app.clock.advance(1_000)
  expect((await complete(late.enrollment_id, codeOf(late.secret))).status).toBe(404)
  expect((await complete(last.enrollment_id, codeOf(last.secret, -2))).status).toBe(400)
  expect((await complete(last.enrollment_id, codeOf(last.secret, 2))).status).toBe(400)
  expect((await complete(last.enrollment_id, codeOf(last.secret, -1))).status).toBe(200)
})

test('an enrollment of another user and an unknown one are 404', async () => {
  const { enrollment_id, secret } = await begin()
  const other = expectStatus(
    await owner.post(`${mine.I}/users`, { username_type: 'unique', username: uniqueName('o') }),
    201,
  ).data
  const body = { enrollment_id, code: codeOf(secret) }
  const at = (I: string, id: string) => `${I}/users/${id}/verifiers/complete-enrollment`
  expect((await owner.post(at(mine.I, other.id), body)).status).toBe(404)
  expect((await theirs.owner.post(at(mine.I, place.userId), body)).status).toBe(404)
  expect((await theirs.owner.post(at(theirs.I, place.userId), body)).status).toBe(404)
  expect((await complete(`enr_${'0'.repeat(26)}`, '000000')).status).toBe(404)
  expect((await complete('x', '000000')).status).toBe(404)
  // None of these requests counted as an attempt of the enrollment, because its user and issuer did not match.
  const row = await app.gatehouse.database.prisma.enrollment.findUniqueOrThrow({ where: { id: enrollment_id } })
  expect(row.attempts).toBe(0)
})

test('the body of complete-enrollment is validated: 400 with the fields', async () => {
  const response = await owner.post(`${path}/complete-enrollment`, { totp: 1 })
  expect(response.status).toBe(400)
  expect(
    response.body.details.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`).sort(),
  ).toEqual(['code required', 'enrollment_id required', 'totp unknown_field'])
  const { enrollment_id } = await begin()
  expect((await complete(enrollment_id, 123456)).status).toBe(400)
  for (const code of ['', '12345', '1234567', 'abcdef', '１２３４５６']) {
    const { enrollment_id: fresh } = await begin()
    expect([code, (await complete(fresh, code)).status]).toEqual([code, 400])
  }
})

test('a second totp is 409, at the start of the enrollment and at its completion', async () => {
  const [one, two] = [await begin(), await begin()]
  expectStatus(await complete(one.enrollment_id, codeOf(one.secret)), 200)
  expect((await complete(two.enrollment_id, codeOf(two.secret))).status).toBe(409)
  expect((await owner.post(path, { type: 'totp_enrollment', issuer_name: 'Acme' })).status).toBe(409)
})

test('completing an enrollment is never replayed: the same key runs again', async () => {
  const { enrollment_id, secret } = await begin()
  const headers = { 'idempotency-key': uniqueName('key') }
  const code = codeOf(secret)
  expect((await complete(enrollment_id, code, headers)).status).toBe(200)
  const again = await complete(enrollment_id, code, headers)
  expect(again.status).toBe(404)
  expect(again.headers.get('idempotent-replayed')).toBeNull()
})

test('secrets that are shown once are never in the idempotency store in plain text, through REST or GraphQL', async () => {
  const body = { type: 'totp_enrollment', issuer_name: 'Acme' }
  const one = await owner.post(path, body, { 'idempotency-key': uniqueName('key') })
  const headers = { 'idempotency-key': uniqueName('key') }
  const codes = [await owner.post(path, { type: 'backup_codes' }, headers)]
  codes.push(await owner.post(path, { type: 'backup_codes' }, headers))
  expect(codes[0]!.body.data.codes_plain).not.toEqual(codes[1]!.body.data.codes_plain)
  const make = `mutation ($a: ID!, $i: ID!, $u: ID!, $key: String) {
    createVerifier(accountId: $a, issuerId: $i, userId: $u, idempotencyKey: $key, input: { type: backup_codes }) { id ... on NewBackupCodes { codesPlain } } }`
  const variables = { a: mine.accountId, i: mine.issuerId, u: place.userId, key: uniqueName('key') }
  const first = await owner.graphql(make, variables)
  const second = await owner.graphql(make, variables)
  expect(first.body.data.createVerifier.codesPlain).toHaveLength(10)
  expect(second.body.data.createVerifier.codesPlain).not.toEqual(first.body.data.createVerifier.codesPlain)
  const rows = await app.gatehouse.database.prisma.idempotentRequest.findMany()
  const kept = JSON.stringify(rows.map(({ body: text, encryptedResponse }) => [text, encryptedResponse]))
  for (const secret of [one.body.data.secret, codes[0]!.body.data.codes_plain[0]]) expect(kept).not.toContain(secret)
})

test('consumeTotpCode: the current code works once, also one step early or late; an older step never works again', async () => {
  const { secret, id } = await enrolled()
  // The enrollment has used the code of this time step.
  expect(await consumeTotpCode(context(), place, codeOf(secret))).toBeUndefined()
  expect(await consumeTotpCode(context(), place, codeOf(secret, -1))).toBeUndefined()
  app.clock.advance(60_000)
  expect(await consumeTotpCode(context(), place, wrongCode(secret))).toBeUndefined()
  const code = codeOf(secret, 1)
  expect(await consumeTotpCode(context(), place, `${code.slice(0, 3)} ${code.slice(3)}`)).toBe(id)
  expect(await consumeTotpCode(context(), place, code)).toBeUndefined()
  expect(await consumeTotpCode(context(), place, codeOf(secret))).toBeUndefined()
  app.clock.advance(60_000)
  expect(await consumeTotpCode(context(), place, codeOf(secret))).toBe(id)
  const shown = (await owner.get(`${path}/${id}`)).body.data
  expect(shown.last_used_at).toBeGreaterThanOrEqual(shown.created_at + 120_000)
})

test('consumeTotpCode: of 20 parallel uses one succeeds; a code fails for another user or issuer', async () => {
  const { secret, id } = await enrolled()
  app.clock.advance(30_000)
  const code = codeOf(secret)
  const elsewhere = { issuerId: theirs.issuerId, userId: place.userId }
  expect(await consumeTotpCode(context(), elsewhere, code)).toBeUndefined()
  const results = await Promise.all(Array.from({ length: 20 }, () => consumeTotpCode(context(), place, code)))
  expect(results.filter((result) => result === id)).toHaveLength(1)
  expect(results.filter((result) => result === undefined)).toHaveLength(19)
})

test('backup_codes returns ten codes once; a repetition replaces all of them', async () => {
  const heard = await eventsRecordedFromNow(app, mine.accountId)
  const first = expectStatus(await owner.post(path, { type: 'backup_codes', name: 'Paper' }), 201).data
  expect(first.codes_plain).toHaveLength(10)
  expect(new Set(first.codes_plain).size).toBe(10)
  for (const code of first.codes_plain) expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{10}$/)
  const second = expectStatus(await owner.post(path, { type: 'backup_codes' }), 201).data
  const { data } = (await owner.get(path)).body
  expect(data.map(({ id }: { id: string }) => id)).toEqual([second.id])
  expect(await consumeBackupCode(context(), place, first.codes_plain[0])).toBeUndefined()
  expect(await consumeBackupCode(context(), place, second.codes_plain[0])).toEqual({ verifierId: second.id, left: 9 })
  expect((await heard('user.verifier')).map(({ type, target }) => [type, target.id])).toEqual([
    ['user.verifier.created', first.id],
    ['user.verifier.deleted', first.id],
    ['user.verifier.created', second.id],
  ])
})

test('of 20 parallel backup_codes POSTs one set remains, and its codes are valid', async () => {
  const responses = await Promise.all(Array.from({ length: 20 }, () => owner.post(path, { type: 'backup_codes' })))
  expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(201))
  const { data } = (await owner.get(path)).body
  expect(data).toHaveLength(1)
  const winner = responses.find(({ body }) => body.data.id === data[0].id)!
  expect(await consumeBackupCode(context(), place, winner.body.data.codes_plain[9])).toMatchObject({ left: 9 })
})

test('consumeBackupCode: each code works once in any common spelling, also under 20 parallel uses', async () => {
  const { id, codes_plain: codes } = expectStatus(await owner.post(path, { type: 'backup_codes' }), 201).data
  const [one, two, three] = codes as string[]
  expect(await consumeBackupCode(context(), place, 'AAAAAAAAAA')).toBeUndefined()
  expect(await consumeBackupCode(context(), place, '')).toBeUndefined()
  const typed = ` ${one!.slice(0, 5)}-${one!.slice(5)} `.toLowerCase().replace(/0/g, 'o').replace(/1/g, 'l')
  expect(await consumeBackupCode(context(), place, typed)).toEqual({ verifierId: id, left: 9 })
  expect(await consumeBackupCode(context(), place, one!)).toBeUndefined()
  expect(await consumeBackupCode(context(), { ...place, issuerId: theirs.issuerId }, two!)).toBeUndefined()
  const results = await Promise.all(Array.from({ length: 20 }, () => consumeBackupCode(context(), place, two!)))
  expect(results.filter(Boolean)).toEqual([{ verifierId: id, left: 8 }])
  // Parallel uses of different codes all succeed, and each code counts as used afterwards.
  const rest = (codes as string[]).slice(2)
  const used = await Promise.all(rest.map((code) => consumeBackupCode(context(), place, code)))
  expect(used.map((result) => result?.left).sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  expect(await consumeBackupCode(context(), place, three!)).toBeUndefined()
})

test('the purge job removes expired enrollments', async () => {
  const { enrollment_id } = await begin()
  app.clock.advance(300_000)
  const second = await begin()
  app.clock.advance(301_000)
  await purgeEnrollments(context())
  const left = await app.gatehouse.database.prisma.enrollment.findMany({ where: { userId: place.userId } })
  expect(left.map(({ id }) => id)).toEqual([second.enrollment_id])
  expect(left.map(({ id }) => id)).not.toContain(enrollment_id)
})
