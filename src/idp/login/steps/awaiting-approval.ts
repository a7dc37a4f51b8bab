import { resetState } from '../login-state.js'
import { awaitingApprovalPage } from '../pages/sign-up.js'
import type { Step } from './step.js'

/** The account is created and waits for approval by an administrator. */
export const awaitingApproval: Step = {
  render: (_, { view }) => awaitingApprovalPage(view),
  handleSubmission: async (_, { state }) => ({ to: resetState(state, state.username) }),
}
