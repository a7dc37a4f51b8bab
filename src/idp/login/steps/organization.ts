import { membershipsOf } from '../../../resources/organizations/membership.js'
import { field } from '../../request.js'
import { scope } from '../../scope.js'
import { organizationPage } from '../pages/choices.js'
import type { Asked, Step } from './step.js'

/** Several organizations fit: the person says for which one they come. */
export const organization: Step = {
  show: async (asked, problems) => organizationPage(asked.view, await fitting(asked), problems),

  async answer(asked, form) {
    const { state } = asked
    const orgId = field(form, 'organization')
    const fits = (await fitting(asked)).some(({ id }) => id === orgId)
    if (!fits) return { to: state, problems: [{ key: 'choose_one' }] }
    return { to: { ...state, orgId: orgId! }, done: true }
  },
}

async function fitting({ state, journey }: Asked) {
  const { context, runtime } = scope()
  const all = await membershipsOf(context, { issuerId: runtime.issuer.id, userId: state.user!.id })
  const { allowedOrgIds } = journey
  return allowedOrgIds ? all.filter(({ id }) => allowedOrgIds.includes(id)) : all
}
