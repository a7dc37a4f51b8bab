import { consumeValue, type SingleUseKind } from '../../resources/single-use-values.js'
import type { RequestContext } from '../request-context.js'

/**
 * Uses a single-use value, such as the `jti` of a DPoP proof or of a client assertion, at the issuer of the request. Of
 * several concurrent uses, in any process, exactly one succeeds. The use is committed immediately, so a value stays
 * used if the request fails afterwards.
 * @param value a text that is unique for the sender, such as the client id or key thumbprint together with the `jti`
 * @param expiresAt Unix milliseconds. From then on the value is rejected for its age, so that it is forgotten.
 * @returns false if the value was used before
 */
export const useOnce = (
  { context, runtime }: Pick<RequestContext, 'context' | 'runtime'>,
  kind: SingleUseKind,
  value: string,
  expiresAt: number,
): Promise<boolean> => consumeValue(context, runtime.issuer.id, kind, value, expiresAt)
