/**
 * An account with two weeks of activity, for screenshots and version dumps: sign-ins that succeed or fail, sign-ups
 * that wait for approval, webhooks, a note.
 */
import { Realm } from '../idp/realm.js'
import { createAccount, expectStatus } from './actors.js'
import type { AnyJson } from './api.js'
import type { TestApp } from './start-app.js'

const DAY = 86_400_000

const personNames =
  `Amina Diallo,Bruno Carvalho,Chidi Okafor,Dunja Novak,Emre Yilmaz,Fatou Ndiaye,Grace Hopper,Hedy Lamarr,
Ines Moreau,Joan Clarke,Kenji Watanabe,Lena Fischer,Mateo Rojas,Nadia Haddad,Oskar Lindqvist,Priya Raman,Quentin Dubois,
Rosa Marini,Samuel Adeyemi,Tove Jansen,Umar Farouk,Vera Petrova,Wanda Kowalska,Ximena Torres,Yusuf Demir,Zoe Papadaki,
Ada Lovelace,Alan Mathison,Barbara Liskov,Claude Shannon,Dorothy Vaughan,Edsger Visser,Frances Allen,Hugo Brandt`
    .replaceAll('\n', '')
    .split(',')
const emailOf = (name: string): string => `${name.toLowerCase().replace(/\s+/g, '.')}@example.com`
const PASSWORD = 'correct horse battery staple'

export interface DemoData {
  accountId: string
  issuerId: string
  userId: string
  clientId: string
  webhookId: string
  authorizeUrl: string
}

/** Simulates the last fourteen days. The clock of the application must be fourteen days behind the system clock. */
export async function createDemoData(app: TestApp): Promise<DemoData> {
  const { owner, accountId } = await createAccount(app, 'Northwind Traders')
  const A = `/v1/accounts/${accountId}`
  const create = async (path: string, body: object): Promise<AnyJson> =>
    expectStatus(await owner.post(path, body), 201).data

  const issuer = await create(`${A}/issuers`, {
    name: 'Northwind customers',
    description: 'All customers of the web shop.',
    settings: {
      branding: { display_name: 'Northwind', theme: { primary_color: '#0f766e' } },
      signup: { mode: 'open', require_admin_approval: true },
    },
  })
  await create(`${A}/issuers`, { name: 'Northwind staff', description: 'Employees, with passkeys.' })
  await create(`${A}/issuers`, { name: 'Partner portal', description: 'Suppliers and carriers.' })
  const I = `${A}/issuers/${issuer.id}`
  for (const [name, method] of [
    ['Password', 'password'],
    ['Passkey', 'passkey'],
    ['Code by email', 'email_otp'],
  ])
    await create(`${I}/auth-methods`, { name, method, enabled_signup: method === 'password' })
  const webhook = await create(`${A}/webhooks`, { name: 'CRM', url: 'https://crm.northwind.example/hooks/gatehouse' })
  await create(`${A}/webhooks`, {
    name: 'Security log',
    url: 'https://siem.northwind.example/in',
    event_types: ['user.login.failed', 'user.locked'],
  })

  const redirectUri = 'https://shop.northwind.example/callback'
  const createClient = (name: string, application_type: string, confidential: boolean, more: object = {}) =>
    create(`${I}/clients`, {
      name,
      type: 'internal',
      confidential,
      settings: {
        openid: { application_type, grant_types: ['authorization_code', 'refresh_token'], ...more },
      },
    })
  const web = { redirect_uris: [redirectUri], post_logout_redirect_uris: ['https://shop.northwind.example/'] }
  const shop = await createClient('Web shop', 'spa', false, web)
  await createClient('Back office', 'web', true, { redirect_uris: ['https://office.northwind.example/callback'] })
  await createClient('Courier app', 'native', false, { redirect_uris: ['com.northwind.courier:/callback'] })
  await createClient('Nightly export', 'm2m', true, { grant_types: ['client_credentials'] })
  await createClient('Returns desk', 'web', true, { redirect_uris: ['https://returns.northwind.example/callback'] })

  const orgs: AnyJson[] = []
  for (const name of ['Blue Yonder Airlines', 'Contoso Wholesale', 'Fabrikam Logistics'])
    orgs.push(await create(`${I}/organizations`, { name, org_type: 'business', invitation_enabled: true }))
  await create(`${I}/agents`, {
    name: 'Stock forecaster',
    provider: 'in-house',
    model: 'demand-2',
    scopes: ['stock:read'],
  })
  await create(`${I}/agents`, {
    name: 'Invoice reader',
    provider: 'in-house',
    model: 'reader-1',
    scopes: ['invoices:read'],
  })

  const realm = new Realm(app, { app, accountId, issuerId: issuer.id, A, I, owner })
  const client = { id: shop.id, secret: undefined }
  const params = { redirect_uri: redirectUri, scope: 'openid profile email' }
  const users: { id: string; mail: string }[] = []
  for (let day = 13; day >= 0; day--) {
    const newNames = personNames.slice(users.length, users.length + (day % 3 === 0 ? 4 : 2))
    for (const name of newNames) {
      const [given_name, family_name] = name.split(' ')
      const profile = { name, given_name, family_name, email: emailOf(name), locale: 'en' }
      const user = await create(`${I}/users`, {
        username_type: 'email',
        username: emailOf(name),
        profile,
        email_verified: true,
      })
      await create(`${I}/users/${user.id}/verifiers`, { type: 'password', name: 'Password', password: PASSWORD })
      users.push({ id: user.id, mail: emailOf(name) })
      if (users.length % 4 === 1)
        await create(`${I}/organizations/${orgs[users.length % 3].id}/members`, { member_id: user.id })
      app.clock.advance(31 * 60_000)
    }
    for (let n = 0; n < 5 + (day % 4); n++) {
      const { mail } = users[(day * 7 + n * 3) % users.length]!
      // The fifth sign-in of a day has a mistyped username and fails, so its result contains no code.
      const signInResult = await realm.signIn(client, n === 4 ? `${mail}.typo` : mail, params).catch(() => undefined)
      const code = signInResult?.redirect['code']
      if (code)
        await realm.exchangeCode(client, { code, code_verifier: signInResult.verifier, redirect_uri: redirectUri })
      app.clock.advance(17 * 60_000)
    }
    // The end of the simulated day: 24 hours times `day` before now, minus one hour except on the last day.
    const endOfDay = Date.now() - day * DAY - (day === 0 ? 0 : 3_600_000)
    if (endOfDay > app.clock.now()) app.clock.advance(endOfDay - app.clock.now())
  }

  const reasons = [
    ['Lucía Herrera', 'I run the flower shop on Calle Mayor and would like the trade prices.'],
    ['Tom Becker', 'Our accountant asked me to download the invoices.'],
    ['Mei Tanaka', 'Wholesale account for Tanaka Imports, tax number attached by mail.'],
    ['Noah Williams', 'Just looking.'],
  ]
  for (const [name = '', signup_reason] of reasons) {
    const profile = { name, email: emailOf(name.normalize('NFD').replace(/[^\w ]/g, '')) }
    await create(`${I}/users`, {
      username_type: 'email',
      username: profile.email,
      profile,
      requires_approval: true,
      signup_reason,
      triggered_rule: 'Sign-ups wait for approval',
    })
  }
  const user = users[6]!
  const note = { subject_type: 'user', issuer_id: issuer.id, subject_id: user.id }
  await create(`${A}/notes`, {
    ...note,
    content: 'Prefers to be called in the **morning**. Trade prices agreed until June.',
  })
  return {
    accountId,
    issuerId: issuer.id,
    userId: user.id,
    clientId: shop.id,
    webhookId: webhook.id,
    authorizeUrl: realm.authorizeUrl(client, {
      ...params,
      code_challenge: 'x'.repeat(43),
      code_challenge_method: 'S256',
    }),
  }
}
