/**
 * May this application have what it asks for? Asked for clients that nobody has registered here, after the sign-in, as
 * a prompt of its own: the library opens another interaction for it, and the sign-in's state is not touched.
 */
import type { Context as KoaContext } from 'koa'
import { mayLearnOf } from '../../../resources/clients/organization-restriction.js'
import { membershipsOf } from '../../../resources/organizations/membership.js'
import { type ClientRow, organizationRestriction, readClient } from '../../client.js'
import { documentAllowances } from '../../documents/index.js'
import type { Interaction } from '../../library.js'
import { type Form, field } from '../../request.js'
import { scope } from '../../scope.js'
import { consentPage } from '../pages/consent.js'
import { errorPage } from '../pages/error.js'
import { sendPage, viewOf } from '../pages/layout.js'
import type { Sentence } from '../pages/texts.js'
import { formToken, formVersion } from '../state.js'

/** GET and POST of an interaction whose prompt is consent. */
export async function askConsent(ctx: KoaContext, interaction: Interaction, form: Form): Promise<void> {
  const { context, runtime, writes } = scope()
  const { uid, params } = interaction
  const client = await readClient(String(params['client_id']))
  if (!client?.document || !interaction.session?.accountId) {
    ctx.status = 400
    return errorPage(ctx, runtime, {}, 'expired')
  }
  const purpose = `consent ${uid}`
  const view = viewOf(ctx, runtime.issuer, {
    uiLocales: typeof params['ui_locales'] === 'string' ? params['ui_locales'] : undefined,
    clientName: client.name,
    action: new URL(`${runtime.url}/interaction/${uid}`).pathname,
    token: formToken(purpose, 0),
  })
  const show = async (problems: readonly Sentence[]): Promise<void> => {
    const allowed = documentAllowances(runtime.issuer.settings)
    const asked = String(params['scope'] ?? '').split(' ')
    const wishes = {
      claims: asked,
      scopes: asked.filter((name) => allowed.scopes.includes(name)),
      resources: [params['resource']]
        .flat()
        .filter((uri) => allowed.resources.includes(String(uri)))
        .map(String),
      organizations: await organizationsFor(client, interaction),
    }
    sendPage(ctx, view, consentPage(view, client.document!, String(params['redirect_uri']), wishes, problems))
  }
  if (ctx.method !== 'POST') return show([])
  if (formVersion(purpose, field(form, 'csrf')) !== 0) return show([{ key: 'stale' }])
  const answer = field(form, 'consent')
  if (answer !== 'yes' && answer !== 'no') return show([{ key: 'choose_one' }])

  // What was submitted before belongs to the same request: the sign-in, the choice of an organization.
  interaction.result =
    answer === 'yes'
      ? { ...(interaction.lastSubmission as object | undefined), consent: {} }
      : { error: 'access_denied', error_description: 'the person did not allow it' }
  await interaction.persist()
  await writes.flush(context)
  ctx.status = 303
  ctx.set('Cache-Control', 'no-store')
  ctx.set('Location', interaction.returnTo)
  ctx.body = ''
}

/**
 * The organizations that tokens of this client will name (decisions D33). One that demands a second factor is among
 * them even if this sign-in had none: a later one adds it without asking for consent.
 */
async function organizationsFor(client: ClientRow, { params, session }: Interaction): Promise<string[]> {
  const { context, runtime } = scope()
  const selectedId = typeof params['org'] === 'string' ? params['org'] : null
  const restriction = organizationRestriction(client)
  const all = await membershipsOf(context, { issuerId: runtime.issuer.id, userId: session!.accountId! })
  return all.filter(({ id }) => mayLearnOf(restriction, id, selectedId)).map(({ id, name }) => name ?? id)
}
