/** The kinds of authentication methods and their fields. */
import type { AuthMethodKind } from 'documents/types'
import type { IconName } from '../../components/icon'
import type { Field } from '../../form/fields'

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
  /** Settings of the external provider; undefined for local methods. */
  upstreamFields?: Field<MethodForm>[]
}

const clientId: Field<MethodForm> = { kind: 'text', path: 'settings.client_id', label: 'Client ID', required: true }
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
  hint: 'Leave empty for the default scopes.',
}
const linkByEmail: Field<MethodForm> = {
  kind: 'toggle',
  path: 'settings.link_by_email',
  label: 'Link to an existing user with the same verified email',
  defaultValue: true,
}

export const methodKinds: Record<AuthMethodKind, MethodKind> = {
  password: { label: 'Password', icon: 'lock', text: 'Username and password.' },
  passkey: {
    label: 'Passkey',
    icon: 'fingerprint',
    text: 'Face, fingerprint or security key. Counts as both factors.',
  },
  email_otp: { label: 'Code by email', icon: 'mail', text: 'A six-digit code, sent by email.' },
  email_link: { label: 'Link by email', icon: 'mail', text: 'A single-use link, sent by email.' },
  totp: { label: 'Authenticator app', icon: 'phone', text: 'Second factor: time-based codes (TOTP).' },
  backup_codes: { label: 'Backup codes', icon: 'key', text: 'Single-use codes, for when the second factor is lost.' },
  oidc: {
    label: 'OpenID Connect',
    icon: 'globe',
    text: 'Any provider with discovery: Entra ID, Okta, Keycloak.',
    upstreamFields: [
      {
        kind: 'url',
        path: 'settings.issuer_url',
        label: 'Issuer',
        required: true,
        placeholder: 'https://login.example.com',
        hint: 'The issuer URL without /.well-known/openid-configuration.',
      },
      clientId,
      clientSecret,
      scopes,
      linkByEmail,
    ],
  },
  oauth2: {
    label: 'OAuth 2.0',
    icon: 'globe',
    text: 'Google, Microsoft, Discord and others.',
    upstreamFields: [
      {
        kind: 'text',
        path: 'settings.provider',
        label: 'Provider',
        required: true,
        placeholder: 'google',
        hint: 'discord, facebook, gitlab, google, linkedin, microsoft or slack. For any other provider, set its three endpoints below.',
      },
      clientId,
      clientSecret,
      {
        kind: 'url',
        path: 'settings.redirect_uri',
        label: 'Redirect URI registered with the provider',
        required: true,
        hint: 'The page of the new method shows this URI. Until then, enter any https URL here and change it afterwards.',
      },
      { kind: 'url', path: 'settings.authorization_endpoint', label: 'Authorization endpoint' },
      { kind: 'url', path: 'settings.token_endpoint', label: 'Token endpoint' },
      { kind: 'url', path: 'settings.userinfo_endpoint', label: 'Userinfo endpoint' },
      scopes,
      linkByEmail,
    ],
  },
  apple: {
    label: 'Apple',
    icon: 'globe',
    text: 'Sign in with Apple.',
    upstreamFields: [
      { ...clientId, label: 'Services ID' } as Field<MethodForm>,
      { kind: 'text', path: 'settings.team_id', label: 'Team ID', required: true },
      { kind: 'text', path: 'settings.key_id', label: 'Key ID', required: true },
      {
        kind: 'textarea',
        path: 'settings.private_key',
        label: 'Private key',
        required: true,
        hint: 'The content of the .p8 file: an EC P-256 key in PEM format.',
      },
      linkByEmail,
    ],
  },
  github: {
    label: 'GitHub',
    icon: 'globe',
    text: 'GitHub, or your GitHub Enterprise Server.',
    upstreamFields: [
      clientId,
      clientSecret,
      {
        kind: 'url',
        path: 'settings.base_url',
        label: 'Base URL',
        hint: 'Only for GitHub Enterprise Server.',
        placeholder: 'https://github.example.com',
      },
      linkByEmail,
    ],
  },
}

export const methodKindNames = Object.keys(methodKinds) as AuthMethodKind[]
/** The fields with secrets. They are stored encrypted and never returned, so an edit with an empty field keeps them. */
export const secretPaths = ['settings.client_secret', 'settings.private_key']

export const availabilityFields: Field<MethodForm>[] = [
  { kind: 'text', path: 'name', label: 'Name', required: true, hint: 'Shown on the sign-in page.' },
  { kind: 'toggle', path: 'enabledLogin', label: 'Enable for sign-in', defaultValue: true },
  { kind: 'toggle', path: 'enabledSignup', label: 'Enable for sign-up' },
  { kind: 'toggle', path: 'featured', hint: 'Featured methods come first.', label: 'Feature on the sign-in page' },
]
