import type { InAccount } from '../place.js'

/** Whose keys: the account's, or with `orgId` (and then its `issuerId`) the organization's. */
export interface KeyOwner extends InAccount {
  issuerId?: string
  orgId?: string
}

export const ownerOf = ({ accountId, issuerId, orgId }: KeyOwner) =>
  orgId !== undefined && issuerId !== undefined ? { accountId, issuerId, orgId } : undefined
