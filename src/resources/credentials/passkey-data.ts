/** The stored data of a passkey besides its credential id and signature counter. */
export interface PasskeyData {
  /** COSE_Key in base64url. */
  public_key: string
  algorithm: number
  transports: string[]
  aaguid: string | null
  rp_id: string | null
  /** Whether it can be, and is, copied to other devices (WebAuthn flags BE and BS). Null if unknown. */
  backup_eligible: boolean | null
  backup_state: boolean | null
}

/** A passkey that has not been stored yet. */
export interface NewPasskey extends PasskeyData {
  credential_id: string
  sign_count: number
}
