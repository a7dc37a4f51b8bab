/** The button Cancel on the sign-in page (docs/contract.md#fapi-20-security-profile). */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { expectStatus } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { waitUntil } from '../setup/wait-until.js'
import { headingOf, type Page, type TestBrowser } from './browser.js'
import { PASSWORD, REDIRECT_URI, Realm, redirectParametersOf, type TestClient } from './realm.js'

let app: TestApp
let realm: Realm
let web: TestClient

const ADA = 'ada@example.com'
const hasCancelButton = ({ html }: Page) => html.includes('name="method" value="cancel"')

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  await realm.createUser(ADA)
  web = await realm.createClient({ application_type: 'web' }, { confidential: true })
})
afterAll(() => app.close())

/** Pushes a request, and opens it after the issuer got the profile. */
async function openSignInPage(browser: TestBrowser, profile: 'fapi2' | null): Promise<Page> {
  await setProfile(null)
  const params = {
    response_type: 'code',
    redirect_uri: REDIRECT_URI,
    scope: 'openid',
    state: 'st',
    prompt: 'login',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  }
  const { body } = await realm.postForm('/par', web, params)
  await setProfile(profile)
  return browser.open(`${realm.url}/authorize?${new URLSearchParams({ client_id: web.id, ...body })}`)
}

async function setProfile(profile: 'fapi2' | null): Promise<void> {
  const settings = { security: { openid_policy: { profile } } }
  expectStatus(await realm.tenant.owner.patch(realm.tenant.I, { settings }), 200)
  await waitUntil('the IdP uses the profile', async () => {
    const page = await realm.newBrowser().open(realm.authorizeUrl(web, { prompt: 'none' }))
    return redirectParametersOf(page)['error'] === (profile === null ? 'login_required' : 'invalid_request')
  })
}

test('with the profile fapi2, Cancel returns access_denied to the application', async () => {
  const browser = realm.newBrowser()
  const page = await openSignInPage(browser, 'fapi2')
  expect(hasCancelButton(page)).toBe(true)
  const back = await browser.submit(page, { method: 'cancel' })
  expect(redirectParametersOf(back)).toEqual({
    error: 'access_denied',
    error_description: 'the user canceled the sign-in',
    state: 'st',
    iss: realm.url,
  })
})

test('the form cannot sign in after Cancel', async () => {
  const browser = realm.newBrowser()
  const page = await openSignInPage(browser, 'fapi2')
  await browser.submit(page, { method: 'cancel' })
  const again = await browser.submit(page, { username: ADA, password: PASSWORD, method: 'password' })
  expect(again.url.includes('code=')).toBe(false)
})

test('Cancel does not end the session of a user who is signed in', async () => {
  await setProfile(null)
  const { browser } = await realm.signIn(web, ADA)
  await browser.submit(await openSignInPage(browser, 'fapi2'), { method: 'cancel' })
  await setProfile(null)
  const page = await browser.open(realm.authorizeUrl(web, { prompt: 'none' }))
  expect(redirectParametersOf(page)['code']).toBeDefined()
})

test('without the profile, the page has no button Cancel, and the value is an unknown method', async () => {
  const browser = realm.newBrowser()
  const page = await openSignInPage(browser, null)
  expect(hasCancelButton(page)).toBe(false)
  expect(headingOf(await browser.submit(page, { method: 'cancel' }))).toBe('Sign in')
})
