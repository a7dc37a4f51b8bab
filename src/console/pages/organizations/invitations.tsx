/** The invitations of an organization and their status. */
import { ActionIcon, Alert, Button, Group, Menu } from '@mantine/core'
import {
  createOrganizationInvitation,
  organizationInvitations,
  resendOrganizationInvitation,
  revokeOrganizationInvitation,
} from 'documents/organizations'
import type { CreateOrganizationInvitationInput, InvitationFieldsFragment } from 'documents/types'
import { useMemo, useState } from 'react'
import { useSearchParams } from 'wouter'
import { ConfirmDialog } from '../../components/confirm-dialog'
import { Icon } from '../../components/icon'
import { RelativeTime, StatusBadge } from '../../components/values'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { showError, useMutation } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { NameCell } from '../../list/list-table'
import { TagList } from './members'
import { useGroupOptions, useOrganization } from './organization-context'

export function Invitations({ enabled }: { enabled: boolean }) {
  const { ids, may } = useOrganization()
  const mutate = useMutation()
  const [params, setParams] = useSearchParams()
  const [revoking, setRevoking] = useState<InvitationFieldsFragment>()
  const canInvite = enabled && may('createOrganizationInvitation')
  const open = () => setParams({ new: '1' }, { replace: true })
  const resend = ({ id, email }: InvitationFieldsFragment) =>
    mutate(
      resendOrganizationInvitation,
      { ...ids, invitationId: id },
      { successMessage: `Invitation to ${email} resent` },
    ).catch(showError)
  return (
    <>
      {!enabled && (
        <Alert mb="md" variant="light" icon={<Icon name="mail" />} title="Invitations are disabled">
          An administrator can enable invitations in the settings of the organization.
        </Alert>
      )}
      {canInvite && (
        <Group gap="xs" mb="md">
          <Button leftSection={<Icon name="mail" />} onClick={open}>
            Invite member
          </Button>
        </Group>
      )}
      <List
        label="Invitations"
        query={organizationInvitations}
        variables={ids}
        page={(data) => data.organizationInvitations}
        typename="OrganizationInvitation"
        search={{ name: 'search', placeholder: 'Search by email' }}
        filters={[
          {
            name: 'status',
            label: 'Any status',
            options: ['pending', 'accepted', 'expired', 'revoked'].map((value) => ({ value, label: value })),
          },
        ]}
        columns={[
          {
            header: 'To',
            cell: ({ email, message }) => (
              <NameCell mark={<Icon name="mail" />} name={email} {...(message && { text: message })} />
            ),
          },
          {
            header: 'Scopes',
            hideOnMobile: true,
            cell: ({ scopes }) => <TagList tags={scopes} emptyText="defaults only" />,
          },
          { header: 'Status', width: '125px', cell: ({ status }) => <StatusBadge value={status} /> },
          {
            header: 'Sent',
            width: '120px',
            hideOnMobile: true,
            cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
          },
          {
            header: 'Expires',
            width: '120px',
            hideOnMobile: true,
            cell: ({ expiresAt }) => <RelativeTime at={expiresAt} />,
          },
          {
            header: '',
            width: '72px',
            align: 'right',
            cell: (invitation) =>
              invitation.status === 'pending' &&
              (may('resendOrganizationInvitation') || may('revokeOrganizationInvitation')) && (
                <Menu position="bottom-end">
                  <Menu.Target>
                    <ActionIcon variant="subtle" color="gray" aria-label={`Invitation to ${invitation.email}`}>
                      <Icon name="chevronDown" />
                    </ActionIcon>
                  </Menu.Target>
                  <Menu.Dropdown>
                    {may('resendOrganizationInvitation') && (
                      <Menu.Item leftSection={<Icon name="refresh" />} onClick={() => void resend(invitation)}>
                        Resend
                      </Menu.Item>
                    )}
                    {may('revokeOrganizationInvitation') && (
                      <Menu.Item
                        color="red"
                        leftSection={<Icon name="close" />}
                        onClick={() => setRevoking(invitation)}
                      >
                        Revoke …
                      </Menu.Item>
                    )}
                  </Menu.Dropdown>
                </Menu>
              ),
          },
        ]}
        empty={{
          icon: 'mail',
          title: 'No invitations yet',
          text: 'Invite people by email. The link in the invitation makes them members. People who are not users yet sign up first.',
          ...(canInvite && { action: 'Invite member', onAction: open }),
        }}
      />
      {params.has('new') && canInvite && <InviteDialog onClose={() => setParams({}, { replace: true })} />}
      {revoking && (
        <ConfirmDialog
          title={`Revoke the invitation to ${revoking.email}`}
          label="Revoke invitation"
          onConfirm={() =>
            mutate(
              revokeOrganizationInvitation,
              { ...ids, invitationId: revoking.id },
              { successMessage: 'Invitation revoked' },
            )
          }
          onClose={() => setRevoking(undefined)}
        >
          The link in the invitation stops working. You can invite the same address again.
        </ConfirmDialog>
      )}
    </>
  )
}

function InviteDialog({ onClose }: { onClose: () => void }) {
  const { ids } = useOrganization()
  const mutate = useMutation()
  const { options, onSearch } = useGroupOptions()
  const fields = useMemo(
    (): Field<CreateOrganizationInvitationInput>[] => [
      { kind: 'email', path: 'email', label: 'Email address', required: true, placeholder: 'grace@example.com' },
      { kind: 'list', path: 'scopes', label: 'Scopes', hint: 'In addition to the default member scopes.' },
      ...(options.length > 0
        ? [{ kind: 'multiselect' as const, path: 'groups' as const, label: 'Groups', options, onSearch }]
        : []),
      {
        kind: 'textarea',
        path: 'message',
        label: 'Message',
        hint: 'Replaces the invitation message of the organization.',
      },
    ],
    [options, onSearch],
  )
  const invite = async (input: CreateOrganizationInvitationInput) => {
    await mutate(
      createOrganizationInvitation,
      { ...ids, input },
      { successMessage: `Invitation sent to ${input.email}` },
    )
    onClose()
  }
  return (
    <CreateDialog
      title="Invite member"
      fields={fields}
      submitLabel="Send invitation"
      create={invite}
      onClose={onClose}
    />
  )
}
