import type { Config } from '../config.js'
import { isPlatformScope } from '../kernel/scopes.js'
import { DAY } from '../kernel/time.js'
import { createApiKey } from '../resources/keys/api-keys.js'
import { inDeployment, note, say } from './deployment.js'
import { Misuse } from './failures.js'

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
    throw new Misuse('--expires-in must be days, above 0 and up to 36500.')
  await inDeployment(config, async (context) => {
    const { key, secret } = await createApiKey(
      context,
      { accountId: account },
      {
        name,
        restrictions: { scopes: scope, ...(issuer && { issuer_ids: issuer }), ...(ip && { ip_allowlist: ip }) },
        ...(days !== undefined && { expiresAt: context.now() + Math.round(days * DAY) }),
      },
    )
    const own = scope.filter((one) => !isPlatformScope(one))
    if (own.length > 0) note(`No operation asks for ${own.join(' or ')}; docs/reference/scopes.md has those that do.`)
    const expiresAt = key.expiresAt === null ? null : Number(key.expiresAt)
    if (json) say(JSON.stringify({ id: key.id, secret_plain: secret, scopes: scope, expires_at: expiresAt }))
    else {
      const until = expiresAt === null ? 'no end' : `until ${new Date(expiresAt).toISOString()}`
      say(`API key  ${key.id}:${secret}\n${scope.join(' ')}, ${until}\nThe secret is shown this once.`)
    }
  })
}
