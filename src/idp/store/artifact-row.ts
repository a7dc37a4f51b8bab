import type { AdapterPayload } from 'oidc-provider'
import type { AccountRow } from '../account/account-row.js'

/** An authorization code, refresh token, grant, browser session or interaction from the database. */
export interface ArtifactRow {
  payload: AdapterPayload
  /** Unix milliseconds; null if the artifact was not consumed. */
  consumedAt: number | null
  /** Id of the grant of a code or refresh token; null or undefined for other kinds. */
  grantId?: string | null
  /** Payload of the grant `grantId`, which oidc-provider reads next. */
  grant?: AdapterPayload | null
  /**
   * Active user of a code or refresh token, whom oidc-provider reads after the grant; null or undefined without an
   * active user.
   */
  tokenUser?: AccountRow | null
  /** The registered client of the artifact; null for a client with a metadata document, and without a client. */
  clientId: string | null
  /** Version of the client `clientId` (`CheckedClient`). */
  clientVersion: string
  issuerStatus: string
}
