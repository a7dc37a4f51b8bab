import type { Context } from '../../../platform/context.js'
import type { RequestContext } from '../../request-context.js'
import type { Form } from '../../request-input.js'
import type { LoginState } from '../login-state.js'
import type { LoginTransaction } from '../login-transaction.js'
import type { View } from '../pages/layout.js'
import type { PageMessage } from '../pages/texts.js'

/** Database writes that run in the transaction of a transition. */
export type Effects = (tx: Context) => Promise<unknown>

/** The result of a submitted form or a return from an upstream provider: the next state, writes, and what to show. */
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
  /**
   * Runs after `effects` in the same transaction, can write too, and returns the next state, which replaces `to`.
   * @throws TransitionRefused to roll back and apply another transition instead
   */
  resolveState?: (tx: Context) => Promise<LoginState>
  /** Redirects the browser to this URL of another site instead of showing a step. */
  redirect?: string
  /** Runs after the transaction, and after that of a replacement, whether or not the transition was committed. */
  onSettled?: () => Promise<void>
  /** Messages to show with the next page, unless the step is done. */
  problems?: readonly PageMessage[]
}

/**
 * A failure that only the transaction can detect, for example a wrong or used code, or a username that was taken. The
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
   * Prepares the step when next-step.ts has selected it, in the transaction `tx` of the previous step. For example,
   * sends a code or creates a challenge.
   * @returns the state to save
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
   * Returns the transition for a submitted form. It writes only what must be kept even if the request fails to the
   * database, such as counts of attempts and events of failed sign-ins.
   */
  handleSubmission(request: RequestContext, stepContext: StepContext, form: Form): Promise<Transition>
}
