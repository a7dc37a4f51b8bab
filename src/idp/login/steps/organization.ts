import { membershipsOf } from '../../../resources/organizations/membership.js'
import type { RequestContext } from '../../request-context.js'
import { formField } from '../../request-input.js'
import { organizationPage } from '../pages/choices.js'
import type { Step, StepContext } from './step.js'

/** Asks the user to choose one of several organizations. */
export const organization: Step = {
  render: async (request, stepContext, problems) =>
    organizationPage(stepContext.view, await selectableOrganizations(request, stepContext), problems),

  async handleSubmission(request, stepContext, form) {
    const { state } = stepContext
    const orgId = formField(form, 'organization')
    const isSelectable = (await selectableOrganizations(request, stepContext)).some(({ id }) => id === orgId)
    if (!isSelectable) return { to: state, problems: [{ key: 'choose_one' }] }
    return { to: { ...state, orgId: orgId! }, done: true }
  },
}

async function selectableOrganizations({ context, runtime }: RequestContext, { state, loginTransaction }: StepContext) {
  const memberships = await membershipsOf(context, { issuerId: runtime.issuer.id, userId: state.user!.id })
  const { allowedOrgIds } = loginTransaction
  return allowedOrgIds ? memberships.filter(({ id }) => allowedOrgIds.includes(id)) : memberships
}
