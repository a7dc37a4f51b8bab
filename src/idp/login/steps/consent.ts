/**
 * Consent of the user to a client that no administrator has created, after the sign-in. For this prompt, oidc-provider starts
 * another interaction, which has no login transaction.
 */
import type { Context as KoaContext } from 'koa'
import { mayDiscloseOrganization } from '../../../resources/clients/organization-restriction.js'
import { membershipsOf } from '../../../resources/organizations/membership.js'
import { type ClientRow, readClient } from '../../client/client.js'
import { allowancesOf, consentIdentity, isUnmanaged, restrictionOfClient } from '../../client/unmanaged-clients.js'
import type { Interaction } from '../../provider-types.js'
import type { RequestContext } from '../../request-context.js'
import { type Form, formField } from '../../request-input.js'
import { formToken, formVersion } from '../login-state.js'
import { consentPage } from '../pages/consent.js'
import { errorPage } from '../pages/error.js'
import { createView, sendPage } from '../pages/layout.js'
import type { PageMessage } from '../pages/texts.js'

/** GET and POST of an interaction with the prompt `consent`. */
export async function handleConsent(
  request: RequestContext,
  ctx: KoaContext,
  interaction: Interaction,
  form: Form,
): Promise<void> {
  const { context, runtime, unitOfWork } = request
  const { uid, params } = interaction
  const client = await readClient(request, String(params['client_id']))
  if (!client || !isUnmanaged(client) || !interaction.session?.accountId) {
    ctx.status = 400
    return errorPage(ctx, runtime, {}, 'expired')
  }
  const purpose = `consent ${uid}`
  const view = createView(ctx, runtime.issuer, {
    uiLocales: typeof params['ui_locales'] === 'string' ? params['ui_locales'] : undefined,
    clientName: client.name,
    action: new URL(`${runtime.url}/interaction/${uid}`).pathname,
    token: formToken(request, purpose, 0),
  })
  const show = async (problems: readonly PageMessage[]): Promise<void> => {
    const allowances = allowancesOf(request, client)
    const requestedScopes = String(params['scope'] ?? '').split(' ')
    const requestedAccess = {
      claims: requestedScopes,
      scopes: requestedScopes.filter((name) => allowances.scopes.includes(name)),
      resources: [params['resource']]
        .flat()
        .filter((uri) => allowances.resources.includes(String(uri)))
        .map(String),
      organizations: await disclosedOrganizationNames(request, client, interaction),
    }
    const redirectUri = String(params['redirect_uri'])
    const identity = consentIdentity(client, redirectUri)
    sendPage(ctx, view, consentPage(view, identity, redirectUri, requestedAccess, problems))
  }
  if (ctx.method !== 'POST') return show([])
  if (formVersion(request, purpose, formField(form, 'csrf')) !== 0) return show([{ key: 'stale' }])
  const answer = formField(form, 'consent')
  if (answer !== 'yes' && answer !== 'no') return show([{ key: 'choose_one' }])

  // `lastSubmission` has the results of earlier interactions of the authorization request, such as the sign-in.
  interaction.result =
    answer === 'yes'
      ? { ...(interaction.lastSubmission as object | undefined), consent: {} }
      : { error: 'access_denied', error_description: 'the user denied access' }
  await interaction.persist()
  await unitOfWork.commit(context)
  ctx.status = 303
  ctx.set('Cache-Control', 'no-store')
  ctx.set('Location', interaction.returnTo)
  ctx.body = ''
}

/**
 * Returns the names, or ids without a name, of the organizations that the client's tokens may contain
 * (docs/contract.md#organization-restrictions-of-clients). An organization that requires a second factor is included
 * even if this sign-in had none, because a later sign-in adds the organization without asking for consent.
 */
async function disclosedOrganizationNames(
  request: RequestContext,
  client: ClientRow,
  { params, session }: Interaction,
): Promise<string[]> {
  const { context, runtime } = request
  const selectedId = typeof params['org'] === 'string' ? params['org'] : null
  const restriction = restrictionOfClient(request, client)
  const memberships = await membershipsOf(context, { issuerId: runtime.issuer.id, userId: session!.accountId! })
  return memberships
    .filter(({ id }) => mayDiscloseOrganization(restriction, id, selectedId))
    .map(({ id, name }) => name ?? id)
}
