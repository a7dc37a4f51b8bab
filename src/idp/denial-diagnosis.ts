/** Explains denied requests in plain words (docs/contract.md#refused-requests). */
import { limits } from '../kernel/limits.js'
import { truncateText } from '../kernel/text.js'
import { type DenialReason, denialReasons } from '../resources/clients/denial-reasons.js'
import { quote } from './client/redirect-uri-mismatch.js'
import { type DenialRule, type DeniedFacts, denialRules } from './denial-rules.js'

/** An explanation, as in the data of the event. */
export interface Diagnosis {
  readonly reason: DenialReason
  readonly message: string
  readonly fix: string
  /** The parameter that was refused; null if the reason is not a parameter. */
  readonly parameter: string | null
  /** The refused value of the parameter; null if it could contain a secret. */
  readonly value: string | null
  /** For a redirect URI, the registered ones. */
  readonly allowed_values?: readonly string[]
}

/** Explains a denied request. */
export function diagnose(facts: DeniedFacts): Diagnosis {
  const rule = denialRules.find((one) => matches(one, facts))
  if (!rule) {
    const message = `${facts.error}: ${facts.text.replace(/\.$/, '')}.`
    return { reason: 'other', message, fix: denialReasons.other.fix, parameter: null, value: null }
  }
  const { reason } = rule
  const parameter = (typeof rule.parameter === 'function' ? rule.parameter(facts) : rule.parameter) || null
  const value = parameter === null ? null : recordableValue(parameter, facts)
  const { meaning, fix } = denialReasons[reason]
  return {
    reason,
    message: (rule.message?.(facts, value === null ? '' : quote(value)) ?? meaning).replace(/ {2,}/g, ' '),
    fix,
    parameter,
    value,
    ...((reason === 'redirect_uri_mismatch' || reason === 'post_logout_redirect_uri_mismatch') && {
      allowed_values: listedUris(facts, parameter),
    }),
  }
}

const matches = ({ endpoint, error, text, when }: DenialRule, facts: DeniedFacts): boolean =>
  (endpoint?.test(facts.endpoint) ?? true) &&
  (error?.test(facts.error) ?? true) &&
  (text?.test(facts.text) ?? true) &&
  (when?.(facts) ?? true)

const listedUris = ({ registered }: DeniedFacts, parameter: string | null): string[] =>
  registered[parameter === 'redirect_uri' ? 'redirect_uri' : 'post_logout_redirect_uri']
    .slice(0, limits.maxDenialListedValues)
    .map((uri) => truncateText(uri, limits.maxDenialTextLength))

/**
 * The formats of values that may be recorded, by parameter. Values of other parameters, and values in another format,
 * could be secrets in the wrong place.
 */
const recordableFormats: Readonly<Record<string, RegExp>> = {
  redirect_uri: /^[^\s`?#@]+$/,
  post_logout_redirect_uri: /^[^\s`?#@]+$/,
  code_challenge_method: /^[A-Za-z0-9]{1,10}$/,
  response_mode: /^[a-z._]{1,20}$/,
  response_type: /^[a-z_ ]{1,40}$/,
  scope: /^[\w:./-]{1,40}( [\w:./-]{1,40}){0,9}$/,
  resource: /^https?:\/\/[^\s`?#@]{1,200}$/,
  audience: /^https?:\/\/[^\s`?#@]{1,200}$/,
  grant_type: /^[a-z_:-]{1,80}$/,
}

function recordableValue(parameter: string, { parameters, refusedScope }: DeniedFacts): string | null {
  const sent = parameter === 'scope' && refusedScope ? refusedScope : parameters[parameter]
  const value = Array.isArray(sent) ? sent[0] : sent
  const isRecordable = value !== undefined && value.length <= limits.maxDenialTextLength
  return isRecordable && recordableFormats[parameter]?.test(value) ? value : null
}
