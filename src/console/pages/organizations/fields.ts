/** The fields of an organization, by the form that they are in. */
import type { UpdateOrganizationInput } from 'documents/types'
import type { Field } from '../../form/fields'

export const organizationTypes = [
  { value: 'business', label: 'Business' },
  { value: 'nonprofit', label: 'Nonprofit' },
  { value: 'government', label: 'Government' },
]

export const general: Field<UpdateOrganizationInput>[] = [
  { kind: 'text', path: 'name', label: 'Name' },
  { kind: 'long', path: 'description', label: 'Description' },
  { kind: 'choice', path: 'orgType', label: 'Kind', options: organizationTypes },
  { kind: 'url', path: 'logoUrl', label: 'Logo', placeholder: 'https://example.com/logo.svg' },
  {
    kind: 'choice',
    path: 'status',
    label: 'Status',
    hint: 'A suspended organization gives its members nothing, and its keys stop working.',
    options: [
      { value: 'active', label: 'Active' },
      { value: 'suspended', label: 'Suspended' },
    ],
  },
  { kind: 'text', path: 'statusReason', label: 'Why', when: ({ status }) => status !== 'active' },
  { kind: 'json', path: 'metadata', label: 'Metadata', hint: 'A JSON object of your own.' },
]

export const membership: Field<UpdateOrganizationInput>[] = [
  {
    kind: 'list',
    path: 'defaultMemberScopes',
    label: 'Scopes of every member',
    hint: 'What every active member has.',
    placeholder: 'orders:read',
  },
  {
    kind: 'list',
    path: 'scopes',
    label: 'Scopes of the organization',
    hint: 'For your applications to read. Members and API keys have scopes of their own.',
  },
  { kind: 'list', path: 'creatorScopes', label: 'Scopes of whoever makes it' },
  { kind: 'number', path: 'maxMembers', label: 'At most', unit: 'members', min: 1, placeholder: 'any number' },
  { kind: 'toggle', path: 'invitationEnabled', label: 'People can be invited by email' },
  {
    kind: 'long',
    path: 'invitationMessage',
    label: 'What invitations say',
    hint: 'Above the link, unless an invitation says something else.',
    when: ({ invitationEnabled }) => invitationEnabled === true,
  },
]

export const signIn: Field<UpdateOrganizationInput>[] = [
  { kind: 'toggle', path: 'security.mfa_required', label: 'Members need a second factor' },
]

export const particulars: Field<UpdateOrganizationInput>[] = [
  { kind: 'links', path: 'socialLinks', label: 'Links', hint: 'Its website, and where else it is found.' },
  { kind: 'json', path: 'contact', label: 'Contact' },
  { kind: 'json', path: 'address', label: 'Address' },
  { kind: 'json', path: 'businessDetails', label: 'Business details', hint: 'Legal name, tax number …' },
  { kind: 'json', path: 'customFields', label: 'Fields of your own' },
]
