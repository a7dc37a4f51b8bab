import { fileURLToPath } from 'node:url'

/** The folder that holds package.json, prisma/ and graphql/: three above this file's compiled place in dist/src/platform. */
export const packageRoot = fileURLToPath(new URL('../../../', import.meta.url))
