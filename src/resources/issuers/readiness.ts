/**
 * Which authentication methods can be used. A federated method is stored with the settings of spec 2.4 alone, whatever
 * they hold; one that cannot work with them is not offered until it is complete (decisions D35). The sign-in page, GraphQL
 * and health ask here.
 */
import { presetNames, presetOf } from './oauth2-presets.js'
import { federated, isUpstreamKind, type UpstreamKind } from './upstream-settings.js'

/** Methods that a sign-in can begin with; the others are second factors. */
export const isSignIn = (kind: string): boolean => kind !== 'totp' && kind !== 'backup_codes'

/** A method, as far as it decides whether it can be used. */
export interface MethodSettings {
  method: string
  settings: Record<string, unknown>
  /** The encrypted settings by name, with or without their ciphertext. */
  secrets: Record<string, { unusable?: boolean }>
}

/** SQL: the secrets of a method `m` without their ciphertext. */
export const secretsSql = `(SELECT coalesce(jsonb_object_agg(key, value - 'sealed'), '{}') FROM jsonb_each(m.secrets))`

/** Why a method cannot be used, as a sentence that begins in lower case, and how to fix it, as another sentence. */
export interface NotReady {
  problem: string
  fix: string
}

/** @returns what is missing and how to fix it, in one text; undefined for a method that can be used */
export function notReadyReason(method: MethodSettings): string | undefined {
  const reason = notReady(method)
  return reason && `${reason.problem} ${reason.fix}`
}

/** @returns undefined for a method that can be used */
export function notReady({ method, settings, secrets }: MethodSettings): NotReady | undefined {
  if (!isUpstreamKind(method)) return undefined
  const { required, secret } = federated[method]
  const isSet = (key: string) => (key === secret ? Object.hasOwn(secrets, key) : Boolean(settings[key]))
  const missing = required.filter((key) => !isSet(key))
  if (missing.length > 0)
    return { problem: areMissing(missing), fix: `Add ${missing.length === 1 ? 'it' : 'them'} to the settings.` }
  return reasons[method]?.({ settings, secrets })
}

type Reason = (method: Omit<MethodSettings, 'method'>) => NotReady | undefined

/** Beyond the settings that spec 2.4 requires. */
const reasons: Partial<Record<UpstreamKind, Reason>> = {
  oauth2({ settings }) {
    if (presetOf(settings['provider'])) return undefined
    const missing = ['authorization_endpoint', 'token_endpoint', 'userinfo_endpoint'].filter((key) => !settings[key])
    if (missing.length === 0) return undefined
    const known = `The provider is none of ${presetNames.join(', ')}`
    const again = missing.includes('token_endpoint') ? ' and give client_secret again' : ''
    return { problem: areMissing(missing), fix: `${known}; add its endpoints to the settings${again}.` }
  },

  apple({ secrets }) {
    if (secrets['private_key']?.unusable !== true) return undefined
    return {
      problem: 'private_key is not an EC P-256 private key in PEM form.',
      fix: 'Set it to the content of the .p8 file from Apple.',
    }
  },
}

function areMissing(keys: readonly string[]): string {
  const [last, ...others] = [...keys].reverse()
  return others.length === 0 ? `${last} is missing.` : `${others.reverse().join(', ')} and ${last} are missing.`
}
