import { waitingPage } from '../pages/sign-up.js'
import { anew } from '../state.js'
import type { Step } from './step.js'

/** The account is made, and waits for somebody to approve it. */
export const waiting: Step = {
  show: ({ view }) => waitingPage(view),
  answer: async ({ state }) => ({ to: anew(state, state.username) }),
}
