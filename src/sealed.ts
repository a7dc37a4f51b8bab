/** Every place of the database where something lies sealed with SECRET_KEY: what `gatehouse secrets reseal` goes through. */
import type { SealedPlace } from './platform/reseal.js'

const id = { id: 'text' } as const
const signIn = { issuer_id: 'text', uid: 'text' } as const

// biome-ignore format: a table, one row a place
export const sealedPlaces: readonly SealedPlace[] = [
  { what: 'keys of username hashes', table: 'issuers', key: id, column: 'username_key' },
  { what: 'signing keys', table: 'signing_keys', key: id, column: 'private_jwk' },
  { what: 'spare signing keys', table: 'spare_keys', key: { kid: 'uuid' }, column: 'private_jwk' },
  { what: 'secrets of authentication methods', table: 'auth_methods', key: id, column: 'secrets', path: ['client_secret', 'sealed'] },
  { what: 'private keys of authentication methods', table: 'auth_methods', key: id, column: 'secrets', path: ['private_key', 'sealed'] },
  { what: 'second factors', table: 'verifiers', key: id, column: 'sealed' },
  { what: 'second factors in the making', table: 'enrollments', key: id, column: 'sealed' },
  { what: 'answers kept for an Idempotency-Key', table: 'idempotent_requests', key: { account_id: 'text', key: 'text' }, column: 'sealed' },
  { what: 'secrets of webhooks', table: 'webhooks', key: id, column: 'secrets' },
  { what: 'payments under way', table: 'topup_attempts', key: id, column: 'request' },
  { what: 'sessions of the console', table: 'console_sessions', key: id, column: 'tokens' },
  { what: 'mails that wait', table: 'jobs', key: id, column: 'payload', path: ['sealed'] },
  { what: 'enrolments of sign-ins', table: 'login_states', key: signIn, column: 'state', path: ['enrolling', 'sealed'] },
  { what: 'ways out of sign-ins', table: 'login_states', key: signIn, column: 'state', path: ['upstream', 'sealed'] },
  { what: 'ways back of sign-ins', table: 'login_states', key: signIn, column: 'state', path: ['upstream', 'answer'] },
]
