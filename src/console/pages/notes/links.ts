/** Where the things that notes are about and point to have their pages. */
import type { NoteReferenceType } from 'documents/types'
import type { IconName } from '../../parts/icon'
import { accountHref, issuerHref } from '../../place'

export const kinds: Record<NoteReferenceType, { label: string; icon: IconName }> = {
  user: { label: 'User', icon: 'user' },
  org: { label: 'Organization', icon: 'building' },
  issuer: { label: 'Issuer', icon: 'gate' },
  client: { label: 'Client', icon: 'app' },
  webhook: { label: 'Webhook', icon: 'webhook' },
  api_key: { label: 'API key', icon: 'key' },
}

/** Where a note is, or a page that shows it. */
export interface NotePlace {
  accountId: string
  /** Of the note, or the one that is open; empty for neither. */
  issuerId: string
}

/** @returns below /console; undefined where it cannot be known in which issuer the thing is */
export function hrefOfThing({ accountId, issuerId }: NotePlace, type: NoteReferenceType, id: string) {
  if (type === 'issuer') return issuerHref(accountId, id)
  if (type === 'webhook') return `${accountHref(accountId)}/webhooks/${id}`
  if (type === 'api_key') return `${accountHref(accountId)}/api-keys/${id}`
  if (issuerId === '') return undefined
  const folder = { user: 'users', org: 'organizations', client: 'clients' }[type]
  return `${issuerHref(accountId, issuerId)}/${folder}/${id}`
}

/** A name that can stand in a mention or reference. */
export const nameForNote = (name: string): string =>
  name
    .replace(/[[\]\n|]/g, ' ')
    .trim()
    .slice(0, 200) || 'somebody'

/** What a note says, on one line and without its marks. */
export const plainText = (content: string): string =>
  content
    .replace(/@\[([^[\]\n]+)\]\([\w-]+\)/g, '@$1')
    .replace(/\[\[\w+:([\w-]+)(?:\|([^[\]\n]+))?\]\]/g, (_, id: string, shown?: string) => shown ?? id)
    .replace(/[`*#>]+/g, '')
    .replace(/\s+/g, ' ')
    .trim()

/** Who wrote it, as far as its id says. */
export function authorOf(createdBy: string | null | undefined, self: string | undefined): string {
  if (!createdBy) return 'Gatehouse'
  if (createdBy === self) return 'You'
  const kind = { usr: 'User', key: 'API key', cli: 'Client', agt: 'Agent' }[createdBy.split('_')[0]!] ?? 'Somebody'
  return `${kind} …${createdBy.slice(-6)}`
}
