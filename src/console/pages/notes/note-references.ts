/** The types of resources that notes concern or reference, and the paths of their pages. */
import type { NoteReferenceType } from 'documents/types'
import type { IconName } from '../../components/icon'
import { accountHref, issuerHref } from '../../console-context'

export const referenceTypes: Record<NoteReferenceType, { label: string; icon: IconName }> = {
  user: { label: 'User', icon: 'user' },
  org: { label: 'Organization', icon: 'building' },
  issuer: { label: 'Issuer', icon: 'gate' },
  client: { label: 'Client', icon: 'app' },
  webhook: { label: 'Webhook', icon: 'webhook' },
  api_key: { label: 'API key', icon: 'key' },
}

/** The account and issuer of a note, or of the page that shows the note. */
export interface NoteContext {
  accountId: string
  /** The issuer of the note, otherwise the open issuer; empty if there is neither. */
  issuerId: string
}

/** Returns the path of a resource, below /console, or undefined if its issuer is not known. */
export function referenceHref({ accountId, issuerId }: NoteContext, type: NoteReferenceType, id: string) {
  if (type === 'issuer') return issuerHref(accountId, id)
  if (type === 'webhook') return `${accountHref(accountId)}/webhooks/${id}`
  if (type === 'api_key') return `${accountHref(accountId)}/api-keys/${id}`
  if (issuerId === '') return undefined
  const segment = { user: 'users', org: 'organizations', client: 'clients' }[type]
  return `${issuerHref(accountId, issuerId)}/${segment}/${id}`
}

/** Replaces the characters of a name that would end a mention or reference, and shortens the name. */
export const toReferenceName = (name: string): string =>
  name
    .replace(/[[\]\n|]/g, ' ')
    .trim()
    .slice(0, 200) || 'unnamed'

const authorKinds: Record<string, string> = {
  usr: 'User',
  ak: 'API key',
  tok: 'Personal token',
  cli: 'Client',
  agt: 'Agent',
}

/** Returns the label of the author of a note. The prefix of the author's id says what kind of actor it is. */
export function authorLabel(createdBy: string | null | undefined, self: string | undefined): string {
  if (!createdBy) return 'Gatehouse'
  if (createdBy === self) return 'You'
  const kind = authorKinds[createdBy.split('_')[0]!] ?? 'Unknown'
  return `${kind} …${createdBy.slice(-6)}`
}
