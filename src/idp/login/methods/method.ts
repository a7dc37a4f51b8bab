import { notReadyReason } from '../../../resources/issuers/readiness.js'
import type { Form } from '../../request.js'
import type { MethodFacts } from '../../runtime.js'
import type { Asked, Move } from '../steps/step.js'

/**
 * A first factor: what it makes of the answer to the sign-in page. It either proves who the person is (`done`, with
 * `user`), or leads to a step of its own that will.
 */
export type FirstFactor = (asked: Asked, form: Form, method: MethodFacts) => Promise<Move>

/** May people sign in with this method, and can it work (decisions D35)? */
export const isOffered = ({ kind, login, settings, secrets }: MethodFacts): boolean =>
  login && notReadyReason({ method: kind, settings, secrets }) === undefined
