/** Every column that holds values encrypted with SECRET_KEY; `gatehouse secrets reencrypt` re-encrypts them. */
import type { EncryptedColumn } from '../platform/crypto/reencrypt.js'

const id = { id: 'text' } as const
const loginStateKey = { issuer_id: 'text', uid: 'text' } as const

// biome-ignore format: a table, one row per column, or per path in a JSON column
export const encryptedColumns: readonly EncryptedColumn[] = [
  { label: 'keys of username hashes', table: 'issuers', key: id, column: 'username_key' },
  { label: 'signing keys', table: 'signing_keys', key: id, column: 'private_jwk' },
  { label: 'pooled signing keys', table: 'spare_keys', key: { kid: 'uuid' }, column: 'private_jwk' },
  { label: 'secrets of authentication methods', table: 'auth_methods', key: id, column: 'secrets', path: ['client_secret', 'encrypted'] },
  { label: 'private keys of authentication methods', table: 'auth_methods', key: id, column: 'secrets', path: ['private_key', 'encrypted'] },
  { label: 'second factors', table: 'verifiers', key: id, column: 'encrypted_secret' },
  { label: 'second factors being enrolled', table: 'enrollments', key: id, column: 'encrypted_secret' },
  { label: 'responses stored for an Idempotency-Key', table: 'idempotent_requests', key: { account_id: 'text', key: 'text' }, column: 'encrypted_response' },
  { label: 'secrets of webhooks', table: 'webhooks', key: id, column: 'secrets' },
  { label: 'payments in progress', table: 'topup_attempts', key: id, column: 'request' },
  { label: 'console sessions', table: 'console_sessions', key: id, column: 'tokens' },
  { label: 'queued email', table: 'jobs', key: id, column: 'payload', path: ['encrypted'] },
  { label: 'enrollments in sign-ins', table: 'login_states', key: loginStateKey, column: 'state', path: ['enrolling', 'encryptedSecret'] },
  { label: 'upstream requests of sign-ins', table: 'login_states', key: loginStateKey, column: 'state', path: ['upstream', 'encryptedBindings'] },
  { label: 'upstream responses of sign-ins', table: 'login_states', key: loginStateKey, column: 'state', path: ['upstream', 'encryptedResponse'] },
]
