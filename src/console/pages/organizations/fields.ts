/** The fields of organization forms. */
import type { UpdateOrganizationInput } from 'documents/types'
import type { Field } from '../../form/fields'

export const organizationTypes = [
  { value: 'business', label: 'Business' },
  { value: 'nonprofit', label: 'Nonprofit' },
  { value: 'government', label: 'Government' },
]

export const generalFields: Field<UpdateOrganizationInput>[] = [
  { kind: 'text', path: 'name', label: 'Name' },
  { kind: 'textarea', path: 'description', label: 'Description' },
  { kind: 'select', path: 'orgType', label: 'Type', options: organizationTypes },
  { kind: 'url', path: 'logoUrl', label: 'Logo URL', placeholder: 'https://example.com/logo.svg' },
  {
    kind: 'select',
    path: 'status',
    label: 'Status',
    hint: 'Members of a suspended organization have no scopes in it, and its API keys stop working.',
    options: [
      { value: 'active', label: 'Active' },
      { value: 'suspended', label: 'Suspended' },
    ],
  },
  { kind: 'text', path: 'statusReason', label: 'Reason', visibleWhen: ({ status }) => status !== 'active' },
  { kind: 'json', isMerged: true, path: 'metadata', label: 'Metadata', hint: 'A JSON object with custom data.' },
]

export const membershipFields: Field<UpdateOrganizationInput>[] = [
  {
    kind: 'list',
    path: 'defaultMemberScopes',
    label: 'Default member scopes',
    hint: 'Scopes that every active member has.',
    placeholder: 'orders:read',
  },
  {
    kind: 'list',
    path: 'scopes',
    label: 'Organization scopes',
    hint: 'Scopes that your applications can read. They grant nothing to members and API keys.',
  },
  {
    kind: 'list',
    path: 'creatorScopes',
    label: 'Creator scopes',
    hint: 'Additional scopes of the user who creates the organization.',
  },
  { kind: 'number', path: 'maxMembers', label: 'Maximum members', unit: 'members', min: 1, placeholder: 'unlimited' },
  { kind: 'toggle', path: 'invitationEnabled', label: 'Allow invitations by email' },
  {
    kind: 'textarea',
    path: 'invitationMessage',
    label: 'Invitation message',
    hint: 'Shown above the link, unless the invitation has its own message.',
    visibleWhen: ({ invitationEnabled }) => invitationEnabled === true,
  },
]

export const securityFields: Field<UpdateOrganizationInput>[] = [
  {
    kind: 'toggle',
    path: 'security.mfa_required',
    label: 'Require multi-factor authentication',
    hint: 'Applies when users sign in to this organization.',
  },
]

export const additionalFields: Field<UpdateOrganizationInput>[] = [
  { kind: 'links', path: 'socialLinks', label: 'Links', hint: 'Website and social profiles.' },
  { kind: 'json', path: 'contact', label: 'Contact' },
  { kind: 'json', path: 'address', label: 'Address' },
  { kind: 'json', path: 'businessDetails', label: 'Business details', hint: 'Legal name, tax number …' },
  { kind: 'json', path: 'customFields', label: 'Custom fields' },
]
