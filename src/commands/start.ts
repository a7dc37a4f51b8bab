import type { Config, Role } from '../config.js'
import { start } from '../main.js'

/** `gatehouse start`. */
export const run = (config: Config, { only }: { only?: Role }): Promise<void> =>
  start(config, only ? [only] : ['core', 'idp', 'worker'])
