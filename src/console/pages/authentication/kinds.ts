/** The kinds of authentication methods, each with the fields that it needs. */
import type { AuthMethodKind } from 'documents/types'
import type { Field } from '../../form/fields'
import type { IconName } from '../../parts/icon'

export interface MethodForm {
  name: string
  method?: AuthMethodKind
  enabledLogin?: boolean
  enabledSignup?: boolean
  featured?: boolean
  settings?: Record<string, unknown>
}

export interface MethodKind {
  label: string
  icon: IconName
  text: string
  /** Of the provider that people are sent to; none: it happens here. */
  upstream?: Field<MethodForm>[]
}

const clientId: Field<MethodForm> = { kind: 'text', path: 'settings.client_id', label: 'Client id', required: true }
const clientSecret: Field<MethodForm> = {
  kind: 'password',
  path: 'settings.client_secret',
  label: 'Client secret',
  required: true,
}
const scopes: Field<MethodForm> = {
  kind: 'list',
  path: 'settings.scopes',
  label: 'Scopes',
  hint: 'Empty: what this kind usually asks for.',
}
const link: Field<MethodForm> = {
  kind: 'toggle',
  path: 'settings.link_by_email',
  label: 'Lead to the user with the same confirmed email address',
  otherwise: true,
}

export const methodKinds: Record<AuthMethodKind, MethodKind> = {
  password: { label: 'Password', icon: 'lock', text: 'What somebody knows.' },
  passkey: { label: 'Passkey', icon: 'fingerprint', text: 'Face, finger or a security key; counts as both factors.' },
  email_otp: { label: 'Code by email', icon: 'mail', text: 'Six digits, sent by mail.' },
  email_link: { label: 'Link by email', icon: 'mail', text: 'A link that works once.' },
  totp: { label: 'Authenticator app', icon: 'phone', text: 'A second factor.' },
  backup_codes: { label: 'Backup codes', icon: 'key', text: 'For when the second factor is lost.' },
  oidc: {
    label: 'OpenID Connect',
    icon: 'globe',
    text: 'Any provider with discovery: Entra ID, Okta, Keycloak.',
    upstream: [
      {
        kind: 'url',
        path: 'settings.issuer_url',
        label: 'Issuer',
        required: true,
        placeholder: 'https://login.example.com',
        hint: 'Without /.well-known: discovery finds the rest.',
      },
      clientId,
      clientSecret,
      scopes,
      link,
    ],
  },
  oauth2: {
    label: 'OAuth 2.0',
    icon: 'globe',
    text: 'Google, Microsoft, Discord and others by name.',
    upstream: [
      {
        kind: 'text',
        path: 'settings.provider',
        label: 'Provider',
        required: true,
        placeholder: 'google',
        hint: 'discord, facebook, gitlab, google, linkedin, microsoft or slack. Any other provider can be used once its three endpoints below are set.',
      },
      clientId,
      clientSecret,
      {
        kind: 'url',
        path: 'settings.redirect_uri',
        label: 'Callback registered there',
        required: true,
        hint: 'Once the method is made, its page shows the address to use.',
      },
      { kind: 'url', path: 'settings.authorization_endpoint', label: 'Authorization endpoint' },
      { kind: 'url', path: 'settings.token_endpoint', label: 'Token endpoint' },
      { kind: 'url', path: 'settings.userinfo_endpoint', label: 'Userinfo endpoint' },
      scopes,
      link,
    ],
  },
  apple: {
    label: 'Apple',
    icon: 'globe',
    text: 'Sign in with Apple.',
    upstream: [
      { ...clientId, label: 'Services id' } as Field<MethodForm>,
      { kind: 'text', path: 'settings.team_id', label: 'Team id', required: true },
      { kind: 'text', path: 'settings.key_id', label: 'Key id', required: true },
      {
        kind: 'long',
        path: 'settings.private_key',
        label: 'Private key',
        required: true,
        hint: 'The content of the .p8 file: an EC P-256 key in PEM form.',
      },
      link,
    ],
  },
  github: {
    label: 'GitHub',
    icon: 'globe',
    text: 'Also GitHub Enterprise Server.',
    upstream: [
      clientId,
      clientSecret,
      {
        kind: 'url',
        path: 'settings.base_url',
        label: 'Address',
        hint: 'Only for GitHub Enterprise Server.',
        placeholder: 'https://github.example.com',
      },
      link,
    ],
  },
}

export const kindNames = Object.keys(methodKinds) as AuthMethodKind[]
/** Kept sealed: shown to nobody, so that an empty field leaves it as it is. */
export const secretNames = ['settings.client_secret', 'settings.private_key']

export const offerFields: Field<MethodForm>[] = [
  { kind: 'text', path: 'name', label: 'Name', required: true, hint: 'As people see it on the sign-in page.' },
  { kind: 'toggle', path: 'enabledLogin', label: 'People can sign in with it', otherwise: true },
  { kind: 'toggle', path: 'enabledSignup', label: 'People can sign up with it' },
  { kind: 'toggle', path: 'featured', label: 'Stands first on the sign-in page' },
]
