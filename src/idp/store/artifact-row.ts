import type { AdapterPayload } from 'oidc-provider'
import type { AccountRow } from '../account/account-row.js'

/** An authorization code, refresh token, grant, browser session or interaction as the database has it. */
export interface ArtifactRow {
  payload: AdapterPayload
  consumedAt: number | null
  /** Grant of a code or refresh token, which oidc-provider reads next. */
  grantId?: string | null
  grant?: AdapterPayload | null
  /** User of a code or refresh token, whom oidc-provider reads after the grant. */
  tokenUser?: AccountRow | null
  /** The registered client of the artifact. */
  clientId: string | null
  clientVersion: string
  issuerStatus: string
}
