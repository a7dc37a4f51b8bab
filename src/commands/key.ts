import type { Config } from '../config.js'
import { isPlatformScope } from '../kernel/scopes.js'
import { DAY } from '../kernel/time.js'
import { createApiKey } from '../resources/keys/api-keys.js'
import { print, printNotice, withDeployment } from './deployment.js'
import { UsageError } from './errors.js'

export interface KeyOptions {
  account: string
  name: string
  scope: string[]
  issuer?: string[]
  ip?: string[]
  expiresIn?: string
  json?: boolean
}

/** `gatehouse key create`. */
export async function create(config: Config, options: KeyOptions): Promise<void> {
  const { account, name, scope, issuer, ip, expiresIn, json } = options
  const days = expiresIn === undefined ? undefined : Number(expiresIn)
  if (days !== undefined && !(days > 0 && days <= 36_500))
    throw new UsageError('--expires-in must be a number of days above 0 and at most 36500.')
  await withDeployment(config, async (context) => {
    const { id, secretPlain, ...key } = await createApiKey(
      context,
      { accountId: account },
      {
        name,
        restrictions: { scopes: scope, ...(issuer && { issuer_ids: issuer }), ...(ip && { ip_allowlist: ip }) },
        ...(days !== undefined && { expiresAt: context.now() + Math.round(days * DAY) }),
      },
    )
    const unusedScopes = scope.filter((name) => !isPlatformScope(name))
    if (unusedScopes.length > 0)
      printNotice(
        `No operation of the Core API requires ${unusedScopes.join(' or ')}; docs/reference/scopes.md lists the platform scopes.`,
      )
    const expiresAt = key.expiresAt === null ? null : Number(key.expiresAt)
    if (json) print(JSON.stringify({ id, secret_plain: secretPlain, scopes: scope, expires_at: expiresAt }))
    else {
      const expiry = expiresAt === null ? 'no expiry' : `expires ${new Date(expiresAt).toISOString()}`
      print(`API key  ${id}:${secretPlain}\n${scope.join(' ')}, ${expiry}\nThe secret is shown only once.`)
    }
  })
}
