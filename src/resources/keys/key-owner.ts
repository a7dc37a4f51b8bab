import type { InAccount } from '../resource-path.js'

/** The owner of API keys: an account, or with `issuerId` and `orgId` an organization. */
export interface KeyOwner extends InAccount {
  issuerId?: string
  orgId?: string
}

/** Returns the path of the organization that owns the keys; undefined if an account owns them. */
export const organizationPathOf = ({ accountId, issuerId, orgId }: KeyOwner) =>
  orgId !== undefined && issuerId !== undefined ? { accountId, issuerId, orgId } : undefined
