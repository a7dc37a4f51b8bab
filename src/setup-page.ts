/**
 * The page behind the printed setup link: the first of the three steps of the first run. It makes the first
 * administrator and signs them in to the console, where the other two follow. A form that works without JavaScript, and
 * for scripts.
 */
import { randomBytes } from 'node:crypto'
import type { Context as KoaContext, Middleware } from 'koa'
import { contextOfStranger } from './access/admit.js'
import { consumeSetupLink, type FirstAdministrator, setupTokenFits } from './bootstrap.js'
import { beginFirstSession } from './console-host/first-session.js'
import { system } from './kernel/context.js'
import { ApiError, badRequest } from './kernel/errors.js'
import { gateFault, parseJson } from './kernel/gate.js'
import { newId } from './kernel/ids.js'
import { MINUTE } from './kernel/time.js'
import type { Context, Gatehouse } from './platform/context.js'
import { mustBeForm, readBody } from './platform/http.js'
import { randomSecret } from './platform/secrets.js'
import { newcomerOptions, registeredBy } from './resources/credentials/passkey-challenge.js'
import { formPage, gonePage, madePage } from './setup-view.js'

const BODY_LIMIT = 64 * 1024

/** How long a browser may take to make a passkey, and a person to begin with it (milliseconds). */
const PATIENCE = 30 * MINUTE

/** What is remembered, sealed in the form, of a passkey that is to be made. */
interface Ceremony {
  token: string
  userId: string
  challenge: string
  until: number
}

/** `GET` and `POST /setup`. */
export function mountSetup(gatehouse: Gatehouse): Middleware {
  return async (ctx) => {
    const context = { ...contextOfStranger(gatehouse, ctx.req), actor: system }
    const nonce = randomBytes(18).toString('base64')
    ctx.set({
      'Cache-Control': 'no-store',
      'Content-Security-Policy': `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
    })
    ctx.type = 'html'
    if (ctx.method === 'POST') mustBeForm(ctx.req)
    const values =
      ctx.method === 'POST' ? new URLSearchParams(await readBody(ctx.req, BODY_LIMIT)) : ctx.URL.searchParams
    if (gateFault([...values.values()]))
      throw new ApiError('invalid_request', 'The form holds characters that cannot be used.')
    const token = values.get('token') ?? ''
    if (!(await setupTokenFits(context, token))) return gone(ctx, nonce)
    const email = values.get('username') ?? ''
    const form = async (fault?: string) =>
      formPage({ token, email, fault, nonce, passkey: await passkeyOffer(context, token) })
    if (ctx.method !== 'POST') {
      ctx.body = await form()
      return
    }
    try {
      const admin = await adminOf(context, token, values)
      const userId = await consumeSetupLink(context, token, admin)
      if (userId === undefined) return gone(ctx, nonce)
      await beginFirstSession(context, ctx, userId, 'passkey' in admin ? ['hwk', 'mfa'] : ['pwd'])
      ctx.status = 200
      ctx.body = madePage(email, nonce)
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 400) throw error
      ctx.status = 400
      ctx.body = await form(
        error.message.replace(/^\w+: /, (name) => (name.startsWith('user') ? 'The email ' : 'The password ')),
      )
    }
  }
}

function gone(ctx: KoaContext, nonce: string): void {
  ctx.status = 410
  ctx.body = gonePage(nonce)
}

/** @throws invalid_request for a passkey that does not answer what was asked */
async function adminOf(context: Context, token: string, values: URLSearchParams): Promise<FirstAdministrator> {
  const email = values.get('username') ?? ''
  const credential = values.get('credential') ?? ''
  if (credential === '') return { email, password: values.get('new_password') ?? '' }
  const ceremony = ceremonyIn(context, values.get('ceremony') ?? '')
  const answer = credentialIn(credential)
  const asked = ceremony?.token === token && ceremony.until > context.now() && passkeyPlace(context)
  const passkey = asked && answer && (await registeredBy(answer, { ...asked, challenge: ceremony.challenge }))
  if (!passkey) throw badRequest('Your device’s passkey does not fit. Try again, or take a password.')
  return { email, passkey, userId: ceremony!.userId }
}

/**
 * Where a passkey made on this page is good: the relying party is the host of the issuer's pages, so this page's must be
 * the same or lie below it, and an address is no name.
 */
function passkeyPlace({ config }: Context): { rp_id: string; origin: string } | undefined {
  const idp = new URL(config.idpUrl).hostname
  const { hostname, origin, protocol } = new URL(config.baseUrl)
  const covered = hostname === idp || hostname.endsWith(`.${idp}`)
  const named = /[a-z]$/i.test(idp)
  const safe = protocol === 'https:' || hostname === 'localhost'
  return covered && named && safe ? { rp_id: idp, origin } : undefined
}

async function passkeyOffer(context: Context, token: string) {
  const at = passkeyPlace(context)
  if (!at) return undefined
  const userId = newId('usr', context.now())
  const challenge = randomSecret()
  const options = await newcomerOptions({
    id: userId,
    username: 'administrator',
    brand: 'Gatehouse console',
    rpId: at.rp_id,
    challenge,
  })
  const ceremony: Ceremony = { token, userId, challenge, until: context.now() + PATIENCE }
  return { options, ceremony: context.sealer.seal(JSON.stringify(ceremony)) }
}

function ceremonyIn({ sealer }: Context, sealed: string): Ceremony | undefined {
  try {
    return JSON.parse(sealer.open(sealed)) as Ceremony
  } catch {
    return undefined
  }
}

function credentialIn(text: string): object | undefined {
  try {
    const value = parseJson(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
