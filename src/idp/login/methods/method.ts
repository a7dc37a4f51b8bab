import { readinessMessage } from '../../../resources/issuers/auth-method-readiness.js'
import type { AuthMethodSnapshot } from '../../issuer/runtime.js'
import type { RequestContext } from '../../request-context.js'
import type { Form } from '../../request-input.js'
import type { StepContext, Transition } from '../steps/step.js'

/**
 * Handles the submitted sign-in form for one kind of authentication method. The transition is `done` and has the
 * authenticated user, leads to a step or provider that authenticates the user, or shows the form again with a message.
 */
export type FirstFactor = (
  request: RequestContext,
  stepContext: StepContext,
  form: Form,
  method: AuthMethodSnapshot,
) => Promise<Transition>

/** Checks whether a method is enabled for sign-in and completely configured (docs/contract.md#configuration-health). */
export const isOffered = ({ kind, login, settings, secrets }: AuthMethodSnapshot): boolean =>
  login && readinessMessage({ method: kind, settings, secrets }) === undefined
