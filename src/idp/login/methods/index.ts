/**
 * First factors by kind of authentication method (docs/contract.md#authentication-methods), and those that an issuer
 * offers.
 */
import type { AuthMethodKind } from '../../../resources/issuers/auth-method.js'
import type { AuthMethodSnapshot } from '../../issuer/runtime.js'
import type { RequestContext } from '../../request-context.js'
import { emailLink, emailOtp } from './email.js'
import { type FirstFactor, isOffered } from './method.js'
import { passkey } from './passkey.js'
import { password } from './password.js'
import { upstream } from './upstream.js'

export const firstFactors: Partial<Record<AuthMethodKind, FirstFactor>> = {
  password,
  email_otp: emailOtp,
  email_link: emailLink,
  oidc: upstream,
  oauth2: upstream,
  apple: upstream,
  github: upstream,
  passkey,
}

/** Returns the methods that the sign-in page offers. */
export const offeredMethods = ({ runtime }: RequestContext): AuthMethodSnapshot[] =>
  runtime.issuer.methods.filter((method) => firstFactors[method.kind] !== undefined && isOffered(method))

/** Returns the methods of a kind that are enabled for sign-in. */
export const signInMethodsOf = ({ runtime }: RequestContext, kind: AuthMethodKind): AuthMethodSnapshot[] =>
  runtime.issuer.methods.filter((method) => method.kind === kind && method.login)

/**
 * Returns the authentication method of a submitted sign-in form; undefined if the issuer does not offer it.
 * @param name the kind or id of the method; undefined or empty for the main method of the form
 */
export function selectMethod(request: RequestContext, name: string | undefined): AuthMethodSnapshot | undefined {
  const methods = offeredMethods(request)
  if (name !== undefined && name !== '') return methods.find(({ id, kind }) => id === name || kind === name)
  return usernameFormKinds
    .map((kind) => methods.find((method) => method.kind === kind))
    .find((method) => method !== undefined)
}

/** Kinds of methods that need a username. The first of them that is offered is the main method of the sign-in form. */
const usernameFormKinds: readonly AuthMethodKind[] = ['password', 'email_otp', 'email_link']
