/** Every first factor by its kind of authentication method (spec 2.4), and which of them an issuer offers. */
import type { AuthMethodKind } from '../../../resources/issuers/auth-methods.js'
import type { IssuerFacts, MethodFacts } from '../../runtime.js'
import { scope } from '../../scope.js'
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

/** Methods that one can begin with here. */
export const offered = ({ methods }: IssuerFacts): MethodFacts[] =>
  methods.filter((method) => firstFactors[method.kind] !== undefined && isOffered(method))

/** The methods of this kind that may be used to sign in; several of some. */
export const methodsOf = (kind: AuthMethodKind): MethodFacts[] =>
  scope().runtime.issuer.methods.filter((method) => method.kind === kind && method.login)

/** The one that the form names, by kind or by id; without a name the first one that takes what the page asks for. */
export function chosen(issuer: IssuerFacts, name: string | undefined): MethodFacts | undefined {
  const methods = offered(issuer)
  if (name !== undefined && name !== '') return methods.find(({ id, kind }) => id === name || kind === name)
  return typed.map((kind) => methods.find((method) => method.kind === kind)).find((method) => method !== undefined)
}

/** Methods of the one form with a username, the one that its main button means first. */
const typed: readonly AuthMethodKind[] = ['password', 'email_otp', 'email_link']
