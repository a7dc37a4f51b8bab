/**
 * The page of the setup link: the first of three steps of the initial setup. It creates the first administrator, signs
 * the administrator in to the console, and redirects to the console. The form works without JavaScript, except for
 * passkeys.
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
import { type Form, firstFormField, parseForm, readBody, requireContentType } from '../platform/http/body.js'
import { contentSecurityPolicy, createNonce, pageHeaders } from '../platform/http/html-page.js'
import { signUpPasskeyOptions, verifyRegistration } from '../resources/credentials/passkey-challenge.js'
import { consumeSetupLink, type FirstAdministrator, isValidSetupToken } from './bootstrap.js'
import { completedPage, formPage, linkExpiredPage } from './view.js'

/** The state of a passkey registration, encrypted in a form field. */
interface PasskeyCeremony {
  /** The token of the setup link. */
  token: string
  /** The ID of the user who will be created. */
  userId: string
  challenge: string
  /** When the registration expires, in Unix milliseconds. */
  until: number
}

/** Serves `/setup`: the submission of the form for a POST, the form for other methods. */
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
    const form = await readInput(ctx)
    const token = firstFormField(form, 'token')
    if (!(await isValidSetupToken(context, token))) return respondLinkExpired(ctx, nonce)
    const email = firstFormField(form, 'username')
    const renderForm = async (error?: string) =>
      formPage({ token, email, error, nonce, passkey: await createPasskeyOffer(context, token) })
    if (ctx.method !== 'POST') {
      ctx.body = await renderForm()
      return
    }
    try {
      const admin = await readAdministrator(context, token, form)
      const userId = await consumeSetupLink(context, token, admin)
      if (userId === undefined) return respondLinkExpired(ctx, nonce)
      await createFirstSession(context, ctx, userId, 'passkey' in admin ? ['hwk', 'mfa'] : ['pwd'])
      ctx.status = 200
      ctx.body = completedPage(email, nonce)
    } catch (error) {
      if (!(error instanceof ApiError) || ![400, 409].includes(error.status)) throw error
      ctx.status = error.status
      ctx.body = await renderForm(
        error.status === 409
          ? 'Another user has this email. Enter another one.'
          : error.message.replace(/^\w+: /, (name) => (name.startsWith('user') ? 'The email ' : 'The password ')),
      )
    }
  }
}

/**
 * Reads the form of a POST, else the query of the setup link.
 * @throws unsupported_media_type, payload_too_large, invalid_request
 */
async function readInput(ctx: KoaContext): Promise<Form> {
  const isPost = ctx.method === 'POST'
  if (isPost) requireContentType(ctx.req, 'form')
  const text = isPost ? await readBody(ctx.req, limits.maxSetupFormBytes) : ctx.querystring
  return parseForm(text, requireSafeValues)
}

/**
 * Rejects values with a NUL character or a lone surrogate. Ignores the names, because the page ignores unknown fields.
 * @throws invalid_request
 */
function requireSafeValues(form: Form): void {
  if (unsafeInputError(Object.values(form).flat()))
    throw badRequest('The form contains a NUL character or a lone surrogate. Enter the values again.')
}

function respondLinkExpired(ctx: KoaContext, nonce: string): void {
  ctx.status = 410
  ctx.body = linkExpiredPage(nonce)
}

/** @throws invalid_request if the passkey cannot be verified or its registration has expired */
async function readAdministrator(context: Context, token: string, form: Form): Promise<FirstAdministrator> {
  const email = firstFormField(form, 'username')
  const credential = firstFormField(form, 'credential')
  if (credential === '') return { email, password: firstFormField(form, 'new_password') }
  const ceremony = decryptCeremony(context, firstFormField(form, 'ceremony'))
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
 * party ID is the host of IDP_URL, which must not be an IP address. This page is on BASE_URL, which must be https or on
 * `localhost`, and whose host must be the same or a subdomain of it.
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
