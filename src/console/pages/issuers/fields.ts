/** The fields of the issuer settings (docs/contract.md#issuer-settings). */
import type { UpdateIssuerInput } from 'documents/types'
import type { Field } from '../../form/fields'

type IssuerFields = Field<UpdateIssuerInput>[]

export const generalFields: IssuerFields = [
  { kind: 'text', path: 'name', label: 'Name', required: true },
  { kind: 'textarea', path: 'description', label: 'Description', hint: 'Internal description, in Markdown.' },
  {
    kind: 'select',
    path: 'status',
    label: 'Status',
    hint: 'A disabled issuer does not sign users in and does not issue tokens.',
    options: [
      { value: 'active', label: 'Active' },
      { value: 'disabled', label: 'Disabled' },
    ],
  },
  {
    kind: 'list',
    path: 'availableScopes',
    label: 'Available scopes',
    hint: 'Custom scopes, such as orders:read. For reference only: the scopes of a client are set on the client.',
  },
  { kind: 'json', path: 'metadata', label: 'Metadata', hint: 'A JSON object with custom data.' },
]

export const signupFields: IssuerFields = [
  {
    kind: 'select',
    path: 'settings.signup.mode',
    label: 'Who can sign up',
    defaultValue: 'open',
    options: [
      { value: 'open', label: 'Anyone' },
      { value: 'invite_only', label: 'Invited users only' },
    ],
  },
  {
    kind: 'list',
    path: 'settings.signup.allowed_domains',
    label: 'Allowed email domains',
    hint: 'Only users with an email address in these domains can sign up. Leave empty to allow all domains.',
    placeholder: 'example.com',
  },
  { kind: 'list', path: 'settings.signup.blocked_domains', label: 'Blocked email domains' },
  {
    kind: 'toggle',
    path: 'settings.signup.require_email_verification',
    label: 'Require email verification',
  },
  {
    kind: 'toggle',
    path: 'settings.signup.require_admin_approval',
    label: 'Require administrator approval',
    hint: 'New users wait under Approvals until an administrator approves or denies them.',
  },
]

export const securityFields: IssuerFields = [
  {
    kind: 'toggle',
    path: 'settings.security.mfa_required',
    label: 'Require multi-factor authentication',
    hint: 'A passkey counts as both factors.',
  },
  {
    kind: 'number',
    path: 'settings.security.password_policy.min_length',
    label: 'Minimum password length',
    hint: 'At least 8. NIST SP 800-63B requires 15 if there is no second factor.',
    min: 8,
    max: 128,
    placeholder: '8',
  },
  {
    kind: 'toggle',
    path: 'settings.security.password_policy.disallow_common',
    label: 'Block common passwords',
    defaultValue: true,
  },
  {
    kind: 'toggle',
    path: 'settings.security.password_policy.check_breached',
    label: 'Block breached passwords',
    hint: 'Sends the first 5 of 40 digits of the password’s SHA-1 hash to an external service. If the service does not respond, the password is accepted.',
  },
  {
    kind: 'toggle',
    path: 'settings.security.password_policy.disallow_user_info',
    label: 'Block passwords that contain the user’s name or email address',
    defaultValue: true,
  },
  {
    kind: 'list',
    path: 'settings.security.cors_origins',
    label: 'Allowed CORS origins',
    hint: 'Origins whose scripts can read responses of this issuer, for example of the token endpoint. The origins of public clients’ redirect URIs need no entry.',
    placeholder: 'https://app.example.com',
  },
]

const RULES_PATH = 'settings.security.redirect_uri_rules'

export const redirectUriFields: IssuerFields = [
  {
    kind: 'toggle',
    path: `${RULES_PATH}.allow_loopback`,
    label: 'Allow loopback redirect URIs',
    hint: '127.0.0.1, [::1] and localhost, for development and native applications.',
    defaultValue: true,
  },
  {
    kind: 'toggle',
    path: `${RULES_PATH}.allow_private_use_schemes`,
    label: 'Allow private-use URI schemes',
    hint: 'Redirect URIs of native applications, such as com.example.app:/callback.',
    defaultValue: true,
  },
  {
    kind: 'list',
    path: `${RULES_PATH}.allowed_hosts`,
    label: 'Allowed hosts',
    hint: 'Hosts of all other redirect URIs. Leave empty to allow all. *.example.com matches app.example.com, but not a.b.example.com.',
    placeholder: 'app.example.com',
    emptyIsNull: true,
  },
]

export const sessionFields: IssuerFields = [
  {
    kind: 'number',
    path: 'settings.sessions.absolute_lifetime',
    label: 'Maximum session lifetime',
    hint: 'Users have to sign in again after this time.',
    unit: 's',
    min: 1,
  },
  {
    kind: 'number',
    path: 'settings.sessions.idle_timeout',
    label: 'Idle timeout',
    hint: 'A session ends after this time without activity.',
    unit: 's',
    min: 1,
  },
]

export const brandingFields: IssuerFields = [
  { kind: 'text', path: 'settings.branding.display_name', label: 'Display name' },
  { kind: 'url', path: 'settings.branding.logo_url', label: 'Logo URL', placeholder: 'https://example.com/logo.svg' },
  { kind: 'color', path: 'settings.branding.theme.primary_color', label: 'Primary color', placeholder: '#2f5bea' },
  {
    kind: 'color',
    path: 'settings.branding.theme.background_color',
    label: 'Background color',
    placeholder: '#f3f5fa',
  },
  { kind: 'color', path: 'settings.branding.theme.text_color', label: 'Text color' },
]
