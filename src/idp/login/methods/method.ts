import { readinessMessage } from '../../../resources/issuers/auth-method-readiness.js'
import type { AuthMethodSnapshot } from '../../issuer/runtime.js'
import type { RequestContext } from '../../request-context.js'
import type { Form } from '../../request-input.js'
import type { StepContext, Transition } from '../steps/step.js'

/**
 * A first factor handles the submitted sign-in page. It either identifies the user (`done`, with `user`), or leads to a
 * step of its own that does.
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
