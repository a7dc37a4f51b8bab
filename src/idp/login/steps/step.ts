import type { Context } from '../../../platform/context.js'
import type { Form } from '../../request.js'
import type { View } from '../pages/layout.js'
import type { Sentence } from '../pages/texts.js'
import type { LoginState } from '../state.js'

/** What an answered form leads to: a new state, what else to write with it, and what to tell the person. */
export interface Move {
  to: LoginState
  /** Written in the transaction of the move. */
  effects?: (inside: Context) => Promise<void>
  /** Why the same step is shown again. */
  problems?: readonly Sentence[]
}

/** One step of signing in: the form it shows, and what an answer to it means. */
export interface Step {
  show(view: View, state: LoginState, problems: readonly Sentence[]): string
  /** Decides; writes nothing itself but failures, which count whatever becomes of the request. */
  answer(state: LoginState, form: Form): Promise<Move>
}
