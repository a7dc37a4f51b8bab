import { membershipsOf } from '../../../resources/organizations/membership.js'
import { requestContext } from '../../request-context.js'
import { formField } from '../../request-input.js'
import { organizationPage } from '../pages/choices.js'
import type { Step, StepContext } from './step.js'

/** Asks the user to choose one of several organizations. */
export const organization: Step = {
  render: async (stepContext, problems) =>
    organizationPage(stepContext.view, await selectableOrganizations(stepContext), problems),

  async handleSubmission(stepContext, form) {
    const { state } = stepContext
    const orgId = formField(form, 'organization')
    const isSelectable = (await selectableOrganizations(stepContext)).some(({ id }) => id === orgId)
    if (!isSelectable) return { to: state, problems: [{ key: 'choose_one' }] }
    return { to: { ...state, orgId: orgId! }, done: true }
  },
}

async function selectableOrganizations({ state, loginTransaction }: StepContext) {
  const { context, runtime } = requestContext()
  const memberships = await membershipsOf(context, { issuerId: runtime.issuer.id, userId: state.user!.id })
  const { allowedOrgIds } = loginTransaction
  return allowedOrgIds ? memberships.filter(({ id }) => allowedOrgIds.includes(id)) : memberships
}
