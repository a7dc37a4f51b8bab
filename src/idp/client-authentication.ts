/**
 * How clients and agents prove who they are at `/token`, `/introspect` and `/revoke`, and how often they may fail
 * (security rule 34, docs/decisions/0065).
 */
import type { Context as KoaContext } from 'koa'
import Provider from 'oidc-provider'
import { refuseGuessing, trySecret } from '../access/guesses.js'
import type { Context } from '../platform/context.js'
import { sameText } from '../platform/secrets.js'
import { fits } from '../resources/keys/rotating-secret.js'
import { rowOf } from './client.js'
import type { OpenIdClient, OpenIdContext } from './library.js'
import { type Form, field } from './request.js'
import type { Runtime } from './runtime.js'
import { scope } from './scope.js'

/** What became of the client's secret, in `ctx.state`. */
const RESULT = 'clientSecret'

/** Has the client of this request shown its secret? */
export const isAuthenticated = (ctx: KoaContext): boolean => ctx.state[RESULT] === 'fits'

/** The id that a request says its client has; undefined where the library would find none. */
export const claimedClient = (ctx: KoaContext | OpenIdContext, form: Form): string | undefined =>
  field(form, 'client_id') ?? basicId(ctx.get('authorization'))

/** The id in a Basic header; ids need no decoding. */
function basicId(header: string): string | undefined {
  const encoded = /^basic +(\S+)$/i.exec(header)?.[1]
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8').split(':')[0]
}

const place = ({ issuer }: Runtime, clientId: string): string => `${issuer.id} ${clientId}`

/**
 * Refuses a secret or an assertion that would not be looked at, before the database is asked about its client.
 * @throws ApiError too_many_requests
 */
export function refuseEarly(ctx: KoaContext, context: Context, runtime: Runtime, form: Form): void {
  const shown = [ctx.req.headers.authorization, form['client_secret'], form['client_assertion']]
  if (shown.some(Boolean)) refuseGuessing(context, 'idp', place(runtime, claimedClient(ctx, form) ?? ''))
}

/**
 * The library's `Client.compareClientSecret`: is this one of the client's secrets in force? After a rotation there are two
 * for a while (spec 5.1 rule 3).
 * @throws ApiError too_many_requests after too many failures from the caller's address
 */
export async function compareSecret(client: OpenIdClient, secret: string): Promise<boolean> {
  return attempt(Provider.ctx!, rowOf(client).id, () => secretFits(client, secret))
}

/**
 * Counts an answer of invalid_client that no comparison led to: there is no such client, or it has no secret. It must not
 * be told from a wrong secret by how often it may be had.
 * @throws ApiError too_many_requests
 */
export async function countRefusal(ctx: OpenIdContext, form: Form): Promise<void> {
  if (ctx.state[RESULT] === undefined) await attempt(ctx, claimedClient(ctx, form) ?? '', () => false)
}

async function attempt(ctx: OpenIdContext, clientId: string, succeeds: () => boolean): Promise<boolean> {
  const { context, runtime } = scope()
  const { fits, headers } = await trySecret(context, 'idp', place(runtime, clientId), succeeds)
  ctx.state[RESULT] = fits ? 'fits' : 'wrong'
  ctx.set(headers)
  return fits
}

function secretFits(client: OpenIdClient, secret: string): boolean {
  const { kind, id, secrets } = rowOf(client)
  const current = scope()
  const { context, proof } = current
  if (proof) {
    if (proof.clientId !== id || !sameText(proof.secret, secret)) return false
    current.agent = { verifierId: proof.verifierId, method: 'wallet' }
    return true
  }
  if (kind === 'client') return fits(secrets, secret, context.now())
  // Every secret of an agent is looked at, whichever fits.
  const verifiers = secrets.filter((one) => fits([one], secret, context.now()))
  if (verifiers.length > 0) current.agent = { verifierId: verifiers[0]!.id!, method: 'secret' }
  return verifiers.length > 0
}
