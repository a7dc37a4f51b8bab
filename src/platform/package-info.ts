import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The path of the directory that contains package.json, prisma/ and graphql/. It is three levels above
 * dist/src/platform.
 */
export const packageRoot = fileURLToPath(new URL('../../../', import.meta.url))

/** The version of this build, from package.json. */
export const version: string = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')).version
