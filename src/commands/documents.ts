import type { Config } from '../config.js'
import { sdl } from '../graphql/schema.js'
import { prices } from '../resources/payments/prices.js'
import { openApiDocument } from '../rest/openapi.js'

/** `gatehouse schema`. */
export async function schema(): Promise<void> {
  process.stdout.write(sdl())
}

/** `gatehouse openapi`. */
export async function openapi(config: Config): Promise<void> {
  process.stdout.write(`${JSON.stringify(openApiDocument(config.baseUrl, prices), null, 2)}\n`)
}
