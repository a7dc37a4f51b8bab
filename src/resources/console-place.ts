import type { Context } from '../platform/context.js'

/** Where the console signs in; the deployment's row `console`. */
export interface ConsolePlace {
  account_id: string
  issuer_id: string
  client_id: string
}

/** The console's place, once first start has made it. */
export async function consolePlace(context: Context): Promise<ConsolePlace | undefined> {
  const row = await context.db.deployment.findUnique({ where: { name: 'console' } })
  return row?.value as ConsolePlace | undefined
}
