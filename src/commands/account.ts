import type { Config } from '../config.js'
import { createAccount } from '../resources/accounts/accounts.js'
import { consolePath } from '../resources/console-path.js'
import { bootstrap } from '../setup/bootstrap.js'
import { print, withDeployment } from './deployment.js'

/** `gatehouse account create`. */
export async function create(
  config: Config,
  options: { name?: string; description?: string; owner?: string; json?: boolean },
): Promise<void> {
  await withDeployment(config, async (context) => {
    if (!(await consolePath(context))) await bootstrap(context)
    const { account, apiKey } = await createAccount(context, {
      ...(options.name && { name: options.name }),
      ...(options.description && { description: options.description }),
      ...(options.owner && { ownerUserId: options.owner }),
    })
    if (options.json)
      print(JSON.stringify({ id: account.id, api_key: { id: apiKey.id, secret_plain: apiKey.secretPlain } }))
    else print(`account  ${account.id}\nAPI key  ${apiKey.id}:${apiKey.secretPlain}\nThe secret is shown only once.`)
  })
}
