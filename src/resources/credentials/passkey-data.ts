/** The column `data` of a passkey. The credential ID and the signature counter have their own columns. */
export interface PasskeyData {
  /** The public key: a COSE_Key in base64url. */
  public_key: string
  /** The COSE algorithm number of the public key. */
  algorithm: number
  transports: string[]
  /** The identifier of the authenticator model; null if unknown. */
  aaguid: string | null
  /** The relying party ID; null if the API caller who registered the passkey did not give one. */
  rp_id: string | null
  /** Whether the passkey may be copied to other devices (WebAuthn flag BE); null if unknown. */
  backup_eligible: boolean | null
  /** Whether the passkey is currently backed up (WebAuthn flag BS); null if unknown. */
  backup_state: boolean | null
}

/** A passkey that has not been stored yet. */
export interface NewPasskey extends PasskeyData {
  credential_id: string
  sign_count: number
}
