import type { Config } from '../config.js'
import { type KeyFacts, listKeys, livingIssuers, rotateKeys } from '../resources/issuers/key-rotation.js'
import { inDeployment, say } from './deployment.js'

/** `gatehouse keys list`. */
export async function list(config: Config, options: { issuer?: string; json?: boolean }): Promise<void> {
  await inDeployment(config, async (context) => {
    const keys = await listKeys(context, options.issuer)
    if (options.issuer && keys.length === 0) throw new Error(`There is no issuer ${options.issuer}.`)
    if (options.json) {
      const plain = ({ issuerId, kid, alg, createdAt, signing }: KeyFacts) => ({
        issuer_id: issuerId,
        kid,
        alg,
        created_at: Number(createdAt),
        signing,
      })
      say(JSON.stringify(keys.map(plain)))
      return
    }
    for (const { issuerId, kid, alg, createdAt, signing } of keys) {
      const since = new Date(Number(createdAt)).toISOString()
      say(`${issuerId}  ${alg}  ${kid}  ${since}  ${signing ? 'signs' : 'published'}`)
    }
  })
}

/** `gatehouse keys rotate`. */
export async function rotate(config: Config, options: { issuer?: string; json?: boolean }): Promise<void> {
  await inDeployment(config, async (context) => {
    const issuers = options.issuer ? [options.issuer] : livingIssuers(context)
    const rotated: string[] = []
    for await (const issuerId of issuers) {
      if (await rotateKeys(context, issuerId)) rotated.push(issuerId)
      else if (options.issuer) throw new Error(`There is no issuer ${issuerId}.`)
    }
    if (options.json) say(JSON.stringify({ issuer_ids: rotated }))
    else say(`${rotated.length} issuer${rotated.length === 1 ? ' has' : 's have'} new signing keys.`)
  })
}
