import type { Context } from '../../../platform/context.js'
import type { Form } from '../../request.js'
import type { Journey } from '../journey.js'
import type { View } from '../pages/layout.js'
import type { Sentence } from '../pages/texts.js'
import type { LoginState } from '../state.js'

/** Something to write in the transaction of a move. */
export type Effects = (inside: Context) => Promise<unknown>

/** What an answered form leads to: a new state, what else to write with it, and what to tell the person. */
export interface Move {
  to: LoginState
  /** The step is done: which one comes next is for flow.ts to say, once the effects are written. */
  done?: boolean
  /** @throws Refused to make another move instead, with nothing of this one written */
  effects?: Effects | undefined
  /** Effects that make out of `to` another state: what they wrote is part of it. */
  becomes?: (inside: Context) => Promise<LoginState>
  /** The browser goes to this address of somebody else's, and no step is shown. */
  redirect?: string
  /** Runs at the end, whether the move was made, refused or too late. */
  ended?: () => Promise<void>
  /** Why the same step is shown again. */
  problems?: readonly Sentence[]
}

/** What only the transaction could find out: a code was used meanwhile, a name taken. */
export class Refused extends Error {
  constructor(readonly instead: Move) {
    super('refused')
  }
}

/** What a step knows of the request it answers. */
export interface Asked {
  state: LoginState
  journey: Journey
  view: View
  /** Of the form that is shown or answered; each is answered once. */
  version: number
}

/** One step of signing in: the form it shows, and what an answer to it means. */
export interface Step {
  /** Prepares what the step needs before it is shown first: sends a code, makes a challenge. In the transaction. */
  enter?(inside: Context, asked: Asked): Promise<LoginState>
  /** @param query of the address, for what comes by a link */
  show(asked: Asked, problems: readonly Sentence[], query: Form): string | Promise<string>
  /** Decides; writes nothing itself but failures, which count whatever becomes of the request. */
  answer(asked: Asked, form: Form): Promise<Move>
}
