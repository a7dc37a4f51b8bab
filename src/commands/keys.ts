import type { Config } from '../config.js'
import type { Context } from '../platform/context.js'
import {
  type ChangedKey,
  type KeyChange,
  type KeyInfo,
  listIssuerIds,
  listKeys,
  replaceKeys,
  rotateKeys,
} from '../resources/issuers/key-rotation.js'
import { discardSpareKeys } from '../resources/issuers/signing-keys.js'
import { print, printNotice, requireIssuerPath, withDeployment } from './deployment.js'

/** `gatehouse keys list`. */
export async function list(config: Config, options: { issuer?: string; json?: boolean }): Promise<void> {
  await withDeployment(config, async (context) => {
    const keys: KeyInfo[] = []
    for await (const issuerId of issuersOf(context, options.issuer)) keys.push(...(await listKeys(context, issuerId)))
    if (options.json) {
      print(JSON.stringify(keys.map(keyToJson)))
      return
    }
    for (const key of keys) print(`${key.issuerId}  ${key.alg.padEnd(5)}  ${key.kid}  ${describeKey(key)}`)
  })
}

const keyToJson = ({ issuerId, kid, alg, state, createdAt, signsFrom, leavesAt }: KeyInfo) => ({
  issuer_id: issuerId,
  kid,
  alg,
  state,
  signing: state === 'current',
  created_at: createdAt,
  signs_from: signsFrom,
  leaves_at: leavesAt,
})

function describeKey({ state, signsFrom, leavesAt }: KeyInfo): string {
  if (state === 'retired') return `retired  removed from the key set after ${formatTime(leavesAt!)}`
  return state === 'next'
    ? `next     signs from ${formatTime(signsFrom)}`
    : `current  signs since ${formatTime(signsFrom)}`
}

const formatTime = (moment: number): string => new Date(moment).toISOString()

/** `gatehouse keys rotate`. */
export async function rotate(
  config: Config,
  { issuer, now = false, json = false }: { issuer?: string; now?: boolean; json?: boolean },
): Promise<void> {
  await withDeployment(config, async (context) => {
    // Fails before anything is printed or changed if the issuer does not exist.
    if (issuer) await requireIssuerPath(context, issuer)
    if (now) await prepareReplacement(context, issuer)
    const changes: object[] = []
    for await (const issuerId of issuersOf(context, issuer)) {
      const change = await (now ? replaceKeys : rotateKeys)(context, issuerId)
      if (!change) continue
      changes.push({ issuer_id: issuerId, ...changeToJson(change) })
      if (!json)
        print(
          `${issuerId}: ${now ? describeReplacement(change) : describeRotation(change, await listKeys(context, issuerId))}`,
        )
    }
    if (json) print(JSON.stringify({ issuers: changes }))
  })
}

/** Yields the ID of the given issuer, or of every issuer if none is given. */
async function* issuersOf(context: Context, issuer: string | undefined): AsyncGenerator<string> {
  if (issuer === undefined) yield* listIssuerIds(context)
  else yield (await requireIssuerPath(context, issuer)).issuerId
}

async function prepareReplacement(context: Context, issuer: string | undefined): Promise<void> {
  printNotice(
    `Replacing all signing keys of ${issuer ?? 'every issuer'}. All access tokens, ID tokens and personal tokens signed so far become invalid at Gatehouse; services that verify only signatures accept them until they fetch the key set again, within an hour. Sessions and refresh tokens stay valid. Personal tokens are revoked and must be created again.`,
  )
  await discardSpareKeys(context)
}

const changeToJson = (change: KeyChange & { personalTokens?: number }) => ({
  published: change.published.map(changedKeyToJson),
  promoted: change.promoted.map(changedKeyToJson),
  removed: change.removed.map(changedKeyToJson),
  ...(change.personalTokens !== undefined && { personal_tokens_revoked: change.personalTokens }),
})

const changedKeyToJson = ({ alg, kid, signsFrom }: ChangedKey) => ({ alg, kid, signs_from: signsFrom })

function describeReplacement({ removed, personalTokens = 0 }: KeyChange & { personalTokens?: number }): string {
  return `new keys are signing; ${pluralize(removed.length, 'old key')} removed, ${pluralize(personalTokens, 'personal token')} revoked.`
}

const pluralize = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

/**
 * Describes the result of a rotation and when the next keys start to sign.
 * @param keys the keys of the issuer after the rotation
 */
function describeRotation({ published, promoted }: KeyChange, keys: readonly KeyInfo[]): string {
  const isPublished = ({ kid }: KeyInfo) => published.some((key) => key.kid === kid)
  const waitingKey = keys.find((key) => key.state === 'next' && !isPublished(key))
  const [first] = published
  const after = first ? ` New keys are published and sign from ${formatTime(first.signsFrom)}.` : ''
  if (waitingKey) {
    const lead = first ? 'the next keys were published less than 71 minutes ago' : 'a rotation is already pending'
    return `${lead}; the next keys sign from ${formatTime(waitingKey.signsFrom)}.${after}`
  }
  return `${promoted.length > 0 ? 'the next keys are now signing.' : 'there were no next keys.'}${after}`
}
