import type { Config } from '../config.js'
import type { Context } from '../platform/context.js'
import {
  type ChangedKey,
  type KeyChange,
  type KeyFacts,
  listKeys,
  livingIssuers,
  replaceKeys,
  rotateKeys,
} from '../resources/issuers/key-rotation.js'
import { discardSpareKeys } from '../resources/issuers/signing-keys.js'
import { inDeployment, note, placeOfIssuer, say } from './deployment.js'

/** `gatehouse keys list`. */
export async function list(config: Config, options: { issuer?: string; json?: boolean }): Promise<void> {
  await inDeployment(config, async (context) => {
    const keys: KeyFacts[] = []
    for await (const issuerId of issuersOf(context, options.issuer)) keys.push(...(await listKeys(context, issuerId)))
    if (options.json) {
      say(JSON.stringify(keys.map(plain)))
      return
    }
    for (const key of keys) say(`${key.issuerId}  ${key.alg.padEnd(5)}  ${key.kid}  ${described(key)}`)
  })
}

const plain = ({ issuerId, kid, alg, state, createdAt, signsFrom, leavesAt }: KeyFacts) => ({
  issuer_id: issuerId,
  kid,
  alg,
  state,
  signing: state === 'current',
  created_at: createdAt,
  signs_from: signsFrom,
  leaves_at: leavesAt,
})

function described({ state, signsFrom, leavesAt }: KeyFacts): string {
  if (state === 'retired') return `retired  leaves the key set after ${time(leavesAt!)}`
  return state === 'next' ? `next     signs from ${time(signsFrom)}` : `current  signs since ${time(signsFrom)}`
}

const time = (moment: number): string => new Date(moment).toISOString()

/** `gatehouse keys rotate`. */
export async function rotate(
  config: Config,
  { issuer, now = false, json = false }: { issuer?: string; now?: boolean; json?: boolean },
): Promise<void> {
  await inDeployment(config, async (context) => {
    // An unknown issuer is an error before anything is announced or changed.
    if (issuer) await placeOfIssuer(context, issuer)
    if (now) await prepareReplacement(context, issuer)
    const changes: object[] = []
    for await (const issuerId of issuersOf(context, issuer)) {
      const change = await (now ? replaceKeys : rotateKeys)(context, issuerId)
      if (!change) continue
      changes.push({ issuer_id: issuerId, ...inJson(change) })
      if (!json) say(`${issuerId}: ${now ? replaced(change) : rotated(change, await listKeys(context, issuerId))}`)
    }
    if (json) say(JSON.stringify({ issuers: changes }))
  })
}

/** One issuer that exists, or all of them. */
async function* issuersOf(context: Context, issuer: string | undefined): AsyncGenerator<string> {
  if (issuer === undefined) yield* livingIssuers(context)
  else yield (await placeOfIssuer(context, issuer)).issuerId
}

async function prepareReplacement(context: Context, issuer: string | undefined): Promise<void> {
  note(
    `Replacing all signing keys of ${issuer ?? 'every issuer'}. Access tokens, ID tokens and personal tokens signed so far are no longer valid here; services that check signatures alone accept them until they fetch the key set again, after an hour at most. Sessions and refresh tokens go on. Personal tokens are revoked and must be created again.`,
  )
  await discardSpareKeys(context)
}

const inJson = (change: KeyChange & { personalTokens?: number }) => ({
  published: change.published.map(keyInJson),
  promoted: change.promoted.map(keyInJson),
  removed: change.removed.map(keyInJson),
  ...(change.personalTokens !== undefined && { personal_tokens_revoked: change.personalTokens }),
})

const keyInJson = ({ alg, kid, signsFrom }: ChangedKey) => ({ alg, kid, signs_from: signsFrom })

function replaced({ removed, personalTokens = 0 }: KeyChange & { personalTokens?: number }): string {
  return `new keys sign now; ${counted(removed.length, 'old key')} removed, ${counted(personalTokens, 'personal token')} revoked.`
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

/** What a rotation on request did, and from when on the next keys sign. @param keys of the issuer after it */
function rotated({ published, promoted }: KeyChange, keys: readonly KeyFacts[]): string {
  const isPublished = ({ kid }: KeyFacts) => published.some((key) => key.kid === kid)
  const waiting = keys.find((key) => key.state === 'next' && !isPublished(key))
  const [first] = published
  const after = first ? ` New keys are published and sign from ${time(first.signsFrom)}.` : ''
  if (waiting) {
    const lead = first ? 'the next keys were published less than 71 minutes ago' : 'a rotation is waiting already'
    return `${lead}; the next keys sign from ${time(waiting.signsFrom)}.${after}`
  }
  return `${promoted.length > 0 ? 'the next keys sign now.' : 'there were no next keys.'}${after}`
}
