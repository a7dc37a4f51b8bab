/** The settings of an issuer, as tables of fields (specification 2.3). */
import type { UpdateIssuerInput } from 'documents/types'
import type { Field } from '../../form/fields'

type Fields = Field<UpdateIssuerInput>[]

export const general: Fields = [
  { kind: 'text', path: 'name', label: 'Name', required: true },
  { kind: 'long', path: 'description', label: 'Description', hint: 'Markdown. For your own people.' },
  {
    kind: 'choice',
    path: 'status',
    label: 'Status',
    hint: 'A disabled issuer signs nobody in and issues no tokens.',
    options: [
      { value: 'active', label: 'Active' },
      { value: 'disabled', label: 'Disabled' },
    ],
  },
  {
    kind: 'list',
    path: 'availableScopes',
    label: 'Available scopes',
    hint: 'Scopes of your own, such as orders:read. A list for your people and applications: clients have their own.',
  },
  { kind: 'json', path: 'metadata', label: 'Metadata', hint: 'A JSON object of your own.' },
]

export const signup: Fields = [
  {
    kind: 'choice',
    path: 'settings.signup.mode',
    label: 'Who may sign up',
    otherwise: 'open',
    options: [
      { value: 'open', label: 'Everybody' },
      { value: 'invite_only', label: 'Only who is invited' },
    ],
  },
  {
    kind: 'list',
    path: 'settings.signup.allowed_domains',
    label: 'Only from these mail domains',
    placeholder: 'example.com',
  },
  { kind: 'list', path: 'settings.signup.blocked_domains', label: 'Never from these mail domains' },
  {
    kind: 'toggle',
    path: 'settings.signup.require_email_verification',
    label: 'Ask people to confirm their email address',
  },
  {
    kind: 'toggle',
    path: 'settings.signup.require_admin_approval',
    label: 'An administrator approves each sign-up',
    hint: 'They wait at the approval desk until somebody decides.',
  },
]

export const security: Fields = [
  {
    kind: 'toggle',
    path: 'settings.security.mfa_required',
    label: 'Ask everybody for a second factor',
    hint: 'A passkey counts as both.',
  },
  {
    kind: 'number',
    path: 'settings.security.password_policy.min_length',
    label: 'Shortest password',
    hint: 'At least 8. NIST asks for 15 where there is no second factor.',
    min: 8,
    max: 128,
    placeholder: '8',
  },
  {
    kind: 'toggle',
    path: 'settings.security.password_policy.disallow_common',
    label: 'Refuse passwords that many people use',
    otherwise: true,
  },
  {
    kind: 'toggle',
    path: 'settings.security.password_policy.check_breached',
    label: 'Refuse passwords that have leaked somewhere',
    hint: 'Asks a service outside, which learns five of the forty digits of a hash. Without its answer the password is taken.',
  },
  {
    kind: 'toggle',
    path: 'settings.security.password_policy.disallow_user_info',
    label: 'Refuse passwords that hold the user’s name or address',
    otherwise: true,
  },
  {
    kind: 'list',
    path: 'settings.security.cors_origins',
    label: 'Origins that may call the token endpoints from a browser',
    placeholder: 'https://app.example.com',
  },
]

const rules = 'settings.security.redirect_uri_rules'

export const redirectUris: Fields = [
  {
    kind: 'toggle',
    path: `${rules}.allow_loopback`,
    label: 'Allow loopback redirect URIs',
    hint: 'On 127.0.0.1, [::1] and localhost: for development and native applications.',
    otherwise: true,
  },
  {
    kind: 'toggle',
    path: `${rules}.allow_private_use_schemes`,
    label: 'Allow private-use URI schemes',
    hint: 'Of native applications, such as com.example.app:/callback.',
    otherwise: true,
  },
  {
    kind: 'list',
    path: `${rules}.allowed_hosts`,
    label: 'Allowed hosts',
    hint: 'Of all other redirect URIs. Empty: any host. *.example.com allows exactly one more label.',
    placeholder: 'app.example.com',
    emptyIsNull: true,
  },
]

export const sessions: Fields = [
  { kind: 'number', path: 'settings.sessions.absolute_lifetime', label: 'At most signed in for', unit: 's', min: 1 },
  {
    kind: 'number',
    path: 'settings.sessions.idle_timeout',
    label: 'Signed out after doing nothing for',
    unit: 's',
    min: 1,
  },
]

export const branding: Fields = [
  { kind: 'text', path: 'settings.branding.display_name', label: 'Name that people see' },
  { kind: 'url', path: 'settings.branding.logo_url', label: 'Logo', placeholder: 'https://example.com/logo.svg' },
  { kind: 'colour', path: 'settings.branding.theme.primary_color', label: 'Primary colour', placeholder: '#2f5bea' },
  { kind: 'colour', path: 'settings.branding.theme.background_color', label: 'Background', placeholder: '#f3f5fa' },
  { kind: 'colour', path: 'settings.branding.theme.text_color', label: 'Text' },
]
