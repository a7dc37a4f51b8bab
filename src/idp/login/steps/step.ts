import type { Context } from '../../../platform/context.js'
import type { RequestContext } from '../../request-context.js'
import type { Form } from '../../request-input.js'
import type { LoginState } from '../login-state.js'
import type { LoginTransaction } from '../login-transaction.js'
import type { View } from '../pages/layout.js'
import type { PageMessage } from '../pages/texts.js'

/** Database writes that run in the transaction of a transition. */
export type Effects = (tx: Context) => Promise<unknown>

/** The result of a submitted form: the next state, further writes, and messages to show. */
export interface Transition {
  /** The next state. If the step is done, next-step.ts determines its `step`. */
  to: LoginState
  /** The step is done: next-step.ts determines the next step after the effects are written. */
  done?: boolean
  /**
   * Database writes.
   * @throws TransitionRefused to roll back and apply another transition instead
   */
  effects?: Effects | undefined
  /** Runs after `effects` in the same transaction and returns the next state, which replaces `to`. */
  resolveState?: (tx: Context) => Promise<LoginState>
  /** Redirects the browser to this URL of another site instead of showing a step. */
  redirect?: string
  /** Runs after the transaction, whether the transition was committed, refused or stale. */
  onSettled?: () => Promise<void>
  /** Messages to show with the next page, unless the step is done. */
  problems?: readonly PageMessage[]
}

/**
 * A conflict that only the transaction can detect, for example a code that was used or a username that was taken. The
 * transition `replacement` is applied instead.
 */
export class TransitionRefused extends Error {
  constructor(readonly replacement: Transition) {
    super('refused')
  }
}

/** The data with which a step shows its form or handles a submission. */
export interface StepContext {
  state: LoginState
  loginTransaction: LoginTransaction
  view: View
  /** Version of the form that is shown or submitted. Each version accepts one submission. */
  version: number
}

/** A step of the sign-in: shows a form and handles its submission. */
export interface Step {
  /**
   * Prepares the step before it is shown for the first time, in the transaction `tx` of the previous step: sends a code
   * or creates a challenge.
   */
  prepare?(request: RequestContext, tx: Context, stepContext: StepContext): Promise<LoginState>
  /**
   * Renders the page of the step.
   * @param query query of the URL, for links from emails
   */
  render(
    request: RequestContext,
    stepContext: StepContext,
    problems: readonly PageMessage[],
    query: Form,
  ): string | Promise<string>
  /**
   * Returns the transition for a submitted form. It writes only the counts of attempts, such as wrong codes, to the
   * database, because they must be kept even if the request fails.
   */
  handleSubmission(request: RequestContext, stepContext: StepContext, form: Form): Promise<Transition>
}
