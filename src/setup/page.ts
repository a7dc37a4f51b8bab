/**
 * The page of the setup link: the first of three steps of the initial setup. Creates the first administrator, signs
 * them in to the console, and continues there. The form works without JavaScript.
 */
import type { Context as KoaContext, Middleware } from 'koa'
import { anonymousContext } from '../access/authenticate-request.js'
import { createFirstSession } from '../console-host/first-session.js'
import { system } from '../kernel/context.js'
import { ApiError, badRequest } from '../kernel/errors.js'
import { newId } from '../kernel/ids.js'
import { limits } from '../kernel/limits.js'
import { parseJson, unsafeInputError } from '../kernel/safe-json.js'
import type { Context, Gatehouse } from '../platform/context.js'
import { randomSecret } from '../platform/crypto/secrets.js'
import { contentSecurityPolicy, createNonce, pageHeaders } from '../platform/http/html-page.js'
import { readBody, requireFormContentType } from '../platform/http/request.js'
import { signUpPasskeyOptions, verifyRegistration } from '../resources/credentials/passkey-challenge.js'
import { consumeSetupLink, type FirstAdministrator, isValidSetupToken } from './bootstrap.js'
import { completedPage, formPage, linkExpiredPage } from './view.js'

/** The state of a passkey registration, encrypted in a form field. */
interface PasskeyCeremony {
  token: string
  userId: string
  challenge: string
  until: number
}

/** `GET` and `POST /setup`. */
export function mountSetup(gatehouse: Gatehouse): Middleware {
  return async (ctx) => {
    const context = { ...anonymousContext(gatehouse, ctx.req), actor: system }
    const nonce = createNonce()
    const nonceSource = `'nonce-${nonce}'`
    const policy = contentSecurityPolicy({
      'script-src': nonceSource,
      'style-src': nonceSource,
      'img-src': 'data:',
      'form-action': "'self'",
    })
    ctx.set(pageHeaders(policy))
    ctx.type = 'html'
    if (ctx.method === 'POST') requireFormContentType(ctx.req)
    const values =
      ctx.method === 'POST'
        ? new URLSearchParams(await readBody(ctx.req, limits.maxSetupFormBytes))
        : ctx.URL.searchParams
    if (unsafeInputError([...values.values()]))
      throw new ApiError(
        'invalid_request',
        'The form contains a NUL character or a lone surrogate. Enter the values again.',
      )
    const token = values.get('token') ?? ''
    if (!(await isValidSetupToken(context, token))) return respondLinkExpired(ctx, nonce)
    const email = values.get('username') ?? ''
    const renderForm = async (error?: string) =>
      formPage({ token, email, error, nonce, passkey: await createPasskeyOffer(context, token) })
    if (ctx.method !== 'POST') {
      ctx.body = await renderForm()
      return
    }
    try {
      const admin = await readAdministrator(context, token, values)
      const userId = await consumeSetupLink(context, token, admin)
      if (userId === undefined) return respondLinkExpired(ctx, nonce)
      await createFirstSession(context, ctx, userId, 'passkey' in admin ? ['hwk', 'mfa'] : ['pwd'])
      ctx.status = 200
      ctx.body = completedPage(email, nonce)
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 400) throw error
      ctx.status = 400
      ctx.body = await renderForm(
        error.message.replace(/^\w+: /, (name) => (name.startsWith('user') ? 'The email ' : 'The password ')),
      )
    }
  }
}

function respondLinkExpired(ctx: KoaContext, nonce: string): void {
  ctx.status = 410
  ctx.body = linkExpiredPage(nonce)
}

/** @throws invalid_request when the passkey response does not match the challenge */
async function readAdministrator(
  context: Context,
  token: string,
  values: URLSearchParams,
): Promise<FirstAdministrator> {
  const email = values.get('username') ?? ''
  const credential = values.get('credential') ?? ''
  if (credential === '') return { email, password: values.get('new_password') ?? '' }
  const ceremony = decryptCeremony(context, values.get('ceremony') ?? '')
  const credentialResponse = parseCredential(credential)
  const passkeyRequest = ceremony?.token === token && ceremony.until > context.now() && passkeyRelyingParty(context)
  const passkey =
    passkeyRequest &&
    credentialResponse &&
    (await verifyRegistration(credentialResponse, { ...passkeyRequest, challenge: ceremony.challenge }))
  if (!passkey) throw badRequest('The passkey could not be verified. Try again, or use a password.')
  return { email, passkey, userId: ceremony!.userId }
}

/**
 * Returns the relying party for a passkey created on this page, or undefined when passkeys cannot be used. The relying
 * party ID is the host of IDP_URL: the host of BASE_URL must be the same or a subdomain, and it must not be an IP
 * address.
 */
function passkeyRelyingParty({ config }: Context): { rp_id: string; origin: string } | undefined {
  const idp = new URL(config.idpUrl).hostname
  const { hostname, origin, protocol } = new URL(config.baseUrl)
  const isSameSite = hostname === idp || hostname.endsWith(`.${idp}`)
  const isHostname = /[a-z]$/i.test(idp)
  const isSecureOrigin = protocol === 'https:' || hostname === 'localhost'
  return isSameSite && isHostname && isSecureOrigin ? { rp_id: idp, origin } : undefined
}

async function createPasskeyOffer(context: Context, token: string) {
  const relyingParty = passkeyRelyingParty(context)
  if (!relyingParty) return undefined
  const userId = newId('usr', context.now())
  const challenge = randomSecret()
  const options = await signUpPasskeyOptions({
    id: userId,
    username: 'administrator',
    issuerName: 'Gatehouse console',
    rpId: relyingParty.rp_id,
    challenge,
  })
  const ceremony: PasskeyCeremony = { token, userId, challenge, until: context.now() + limits.setupPasskeyTimeout }
  return { options, ceremony: context.encryptor.encrypt(JSON.stringify(ceremony)) }
}

function decryptCeremony({ encryptor }: Context, encrypted: string): PasskeyCeremony | undefined {
  try {
    return JSON.parse(encryptor.decrypt(encrypted)) as PasskeyCeremony
  } catch {
    return undefined
  }
}

function parseCredential(text: string): object | undefined {
  try {
    const value = parseJson(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
