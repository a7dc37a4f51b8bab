/** The settings of authentication methods: the secret of an upstream provider is stored apart from them, encrypted. */
import { invalidFields } from '../../kernel/errors.js'
import { isObject, type JsonObject } from '../../kernel/merge-patch.js'
import type { Context } from '../../platform/context.js'
import type { AuthMethod } from '../../platform/postgres/database.js'
import {
  checkUpstreamSettings,
  isUpstreamKind,
  isUsableSecret,
  secretTarget,
  upstreamKinds,
} from './upstream-settings.js'

/** The stored secret of an upstream provider. */
type StoredUpstreamSecret = {
  /** The ciphertext of the secret. */
  encrypted: string
  /** Return value of `secretTarget` when the secret was set. */
  target: string
  /**
   * Set if the secret has an invalid format, so that the method is not ready (docs/contract.md#configuration-health).
   */
  unusable?: true
}

/**
 * Validates the settings of a federated method, separates the secret from them and encrypts it. Keeps the stored secret
 * if no new one is given. If `secretTarget` changes, the secret must be given again (docs/contract.md#secret-storage).
 * The settings of other methods are returned without validation.
 * @param stored the column `secrets` of an existing method; empty for a new one
 * @returns the columns `settings` and `secrets`
 * @throws invalid_request
 */
export function checkAuthMethodSettings(context: Context, method: string, submitted: JsonObject, stored: JsonObject) {
  if (!isUpstreamKind(method)) return { settings: submitted, secrets: {} }
  const kindFields = upstreamKinds[method]
  const { [kindFields.secret]: secret, [`${kindFields.secret}_set`]: _shown, ...settings } = submitted
  const storedSecret = stored[kindFields.secret] as StoredUpstreamSecret | undefined
  const target = secretTarget(settings)
  const unchangedSecret = secret === undefined && storedSecret?.target === target ? storedSecret : undefined
  const missing = kindFields.required.filter((key) => {
    const value = key === kindFields.secret ? (secret ?? (unchangedSecret && 'kept')) : settings[key]
    return typeof value !== 'string' || value === ''
  })
  if (missing.length > 0) {
    throw invalidFields(
      missing.map((key) => ({
        field: `settings.${key}`,
        code: 'required',
        message:
          key === kindFields.secret && storedSecret
            ? 'must be a non-empty string. It is required again if the provider, endpoint or client that it is for changes.'
            : `is required as a non-empty string for the method ${method}.`,
      })),
    )
  }
  checkUpstreamSettings(context.config, method, settings)
  const upstreamSecret: StoredUpstreamSecret = unchangedSecret ?? {
    encrypted: context.encryptor.encrypt(secret as string),
    target,
    ...(isUsableSecret(method, secret as string) ? {} : { unusable: true }),
  }
  return { settings, secrets: { [kindFields.secret]: upstreamSecret } }
}

/** Returns the settings without the secret, and `client_secret_set` or `private_key_set` for federated methods. */
export function publicSettings(method: AuthMethod): JsonObject {
  const settings = isObject(method.settings) ? method.settings : {}
  if (!isUpstreamKind(method.method)) return settings
  const { secret } = upstreamKinds[method.method]
  return { ...settings, [`${secret}_set`]: secret in (method.secrets as JsonObject) }
}
