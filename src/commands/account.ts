import { bootstrap } from '../bootstrap.js'
import type { Config } from '../config.js'
import { createAccount } from '../resources/accounts/accounts.js'
import { consolePlace } from '../resources/console-place.js'
import { inDeployment, say } from './deployment.js'

/** `gatehouse account create`. */
export async function create(
  config: Config,
  options: { name?: string; description?: string; owner?: string; json?: boolean },
): Promise<void> {
  await inDeployment(config, async (context) => {
    if (!(await consolePlace(context))) await bootstrap(context)
    const { account, apiKey } = await createAccount(context, {
      ...(options.name && { name: options.name }),
      ...(options.description && { description: options.description }),
      ...(options.owner && { ownerUserId: options.owner }),
    })
    if (options.json)
      say(JSON.stringify({ id: account.id, api_key: { id: apiKey.id, secret_plain: apiKey.secretPlain } }))
    else say(`account  ${account.id}\nAPI key  ${apiKey.id}:${apiKey.secretPlain}\nThe secret is shown this once.`)
  })
}
