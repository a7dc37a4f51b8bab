import { type ClientWithSecret, Gatehouse, GatehouseError, type Issuer, type User } from './client.js'

const { BASE_URL = 'http://localhost:3000', KEY = '' } = process.env
const gatehouse = new Gatehouse({ baseUrl: BASE_URL, credential: KEY })

// The path parameters of the operations. Each call is typed: try another name, or a member that does not exist.
const { data: accounts } = await gatehouse.call('listAccounts')
const account = { account_id: accounts[0]!.id }
const issuer: Issuer = await gatehouse.call('createIssuer', { path: account, body: { name: 'Shop' } })
const path = { ...account, issuer_id: issuer.id }

// A secret is in the response that creates the resource, and in no other.
const client: ClientWithSecret = await gatehouse.call('createClient', {
  path,
  body: {
    name: 'Nightly job',
    type: 'internal',
    confidential: true,
    settings: { openid: { application_type: 'm2m', grant_types: ['client_credentials'] } },
  },
})
console.log(`client   ${client.id} with a secret of ${client.secret?.length} characters`)

// A POST has an Idempotency-Key, so the client can repeat it after a lost response without creating two users.
for (const username of ['anna@example.com', 'bo@example.com', 'dora@example.com']) {
  await gatehouse.call('createUser', { path, body: { username_type: 'email', username } })
}

// A list is an iterator over the resources of all pages.
const users: User[] = []
for await (const user of gatehouse.list('listUsers', { path, query: { limit: 2, status: 'active' } })) users.push(user)
console.log(`users    ${users.length}`)

// `change` reads the user, calculates the body of the PATCH, and repeats both if the user has changed in between.
const userPath = { ...path, user_id: users[0]!.id }
const changed = await gatehouse.change('getUser', 'updateUser', userPath, ({ profile }) => ({
  profile: { ...profile, name: 'Dora' },
}))

// The same with single requests: read a resource with its ETag, and update it if it still has this ETag.
const { value, etag } = await gatehouse.read('getUser', { path: userPath })
console.log(`changed  ${value.username} is named ${value.profile['name']}`)
const unchanged = await gatehouse.readIfChanged('getUser', { path: userPath }, etag)
console.log(`304      ${unchanged === undefined && etag === changed.etag}`)
await gatehouse.update('updateUser', { path: userPath, body: { status: 'suspended' } }, etag)

// Errors have a code and the invalid fields.
try {
  await gatehouse.update('updateUser', { path: userPath, body: { status: 'active' } }, etag)
} catch (error) {
  if (!(error instanceof GatehouseError)) throw error
  console.log(`error    ${error.status} ${error.code}`)
}
await gatehouse.call('deleteIssuer', { path })
console.log(`deleted  ${issuer.id}`)
