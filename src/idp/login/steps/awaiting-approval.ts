import { resetState } from '../login-state.js'
import { awaitingApprovalPage } from '../pages/sign-up.js'
import type { Step } from './step.js'

/** The account is created and waits for approval by an administrator. */
export const awaitingApproval: Step = {
  render: ({ view }) => awaitingApprovalPage(view),
  handleSubmission: async ({ state }) => ({ to: resetState(state, state.username) }),
}
