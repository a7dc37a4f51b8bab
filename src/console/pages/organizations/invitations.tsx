/** Who has been invited into an organization, and what became of it. */
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
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { tellFault, useRun } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Confirm } from '../../parts/confirm'
import { Icon } from '../../parts/icon'
import { Moment, Status } from '../../parts/values'
import { Words } from './members'
import { useGroups, useOrganization } from './place'

export function Invitations({ enabled }: { enabled: boolean }) {
  const { ids, may } = useOrganization()
  const run = useRun()
  const [params, setParams] = useSearchParams()
  const [withdrawing, setWithdrawing] = useState<InvitationFieldsFragment>()
  const offered = enabled && may('createOrganizationInvitation')
  const open = () => setParams({ new: '1' }, { replace: true })
  const resend = ({ id, email }: InvitationFieldsFragment) =>
    run(resendOrganizationInvitation, { ...ids, invitationId: id }, { done: `Sent to ${email} again` }).catch(tellFault)
  return (
    <>
      {!enabled && (
        <Alert mb="md" variant="light" icon={<Icon name="mail" />} title="Nobody can be invited">
          The organization does not allow invitations. An administrator can change that under Settings.
        </Alert>
      )}
      {offered && (
        <Group gap="xs" mb="md">
          <Button leftSection={<Icon name="mail" />} onClick={open}>
            Invite somebody
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
            head: 'To',
            cell: ({ email, message }) => (
              <Named mark={<Icon name="mail" />} name={email} {...(message && { text: message })} />
            ),
          },
          { head: 'Scopes', wide: true, cell: ({ scopes }) => <Words words={scopes} none="those of every member" /> },
          { head: 'Status', width: '125px', cell: ({ status }) => <Status value={status} /> },
          { head: 'Sent', width: '120px', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
          { head: 'Ends', width: '120px', wide: true, cell: ({ expiresAt }) => <Moment at={expiresAt} /> },
          {
            head: '',
            width: '72px',
            align: 'right',
            cell: (invitation) =>
              invitation.status === 'pending' &&
              (may('resendOrganizationInvitation') || may('revokeOrganizationInvitation')) && (
                <Menu position="bottom-end">
                  <Menu.Target>
                    <ActionIcon variant="subtle" color="gray" aria-label={`Invitation of ${invitation.email}`}>
                      <Icon name="chevronDown" />
                    </ActionIcon>
                  </Menu.Target>
                  <Menu.Dropdown>
                    {may('resendOrganizationInvitation') && (
                      <Menu.Item leftSection={<Icon name="refresh" />} onClick={() => void resend(invitation)}>
                        Send again
                      </Menu.Item>
                    )}
                    {may('revokeOrganizationInvitation') && (
                      <Menu.Item
                        color="red"
                        leftSection={<Icon name="close" />}
                        onClick={() => setWithdrawing(invitation)}
                      >
                        Withdraw …
                      </Menu.Item>
                    )}
                  </Menu.Dropdown>
                </Menu>
              ),
          },
        ]}
        empty={{
          icon: 'mail',
          title: 'Nobody has been invited',
          text: 'An invitation goes to an email address; whoever follows its link becomes a member, and a user if need be.',
          ...(offered && { action: 'Invite somebody', onAction: open }),
        }}
      />
      {params.has('new') && offered && <Invite onClose={() => setParams({}, { replace: true })} />}
      {withdrawing && (
        <Confirm
          title={`Withdraw the invitation of ${withdrawing.email}`}
          label="Withdraw"
          run={() =>
            run(
              revokeOrganizationInvitation,
              { ...ids, invitationId: withdrawing.id },
              { done: 'Invitation withdrawn' },
            )
          }
          onClose={() => setWithdrawing(undefined)}
        >
          Its link works no more. You can invite the same address again.
        </Confirm>
      )}
    </>
  )
}

function Invite({ onClose }: { onClose: () => void }) {
  const { ids } = useOrganization()
  const run = useRun()
  const { options, onSearch } = useGroups()
  const fields = useMemo(
    (): Field<CreateOrganizationInvitationInput>[] => [
      { kind: 'email', path: 'email', label: 'Email address', required: true, placeholder: 'grace@example.com' },
      { kind: 'list', path: 'scopes', label: 'Scopes', hint: 'Besides those that every member has.' },
      ...(options.length > 0
        ? [{ kind: 'choices' as const, path: 'groups' as const, label: 'Groups', options, onSearch }]
        : []),
      { kind: 'long', path: 'message', label: 'Message', hint: 'Instead of the organization’s own words.' },
    ],
    [options, onSearch],
  )
  const invite = async (input: CreateOrganizationInvitationInput) => {
    await run(createOrganizationInvitation, { ...ids, input }, { done: `Invitation sent to ${input.email}` })
    onClose()
  }
  return (
    <CreateDialog title="Invite somebody" fields={fields} submit="Send invitation" create={invite} onClose={onClose} />
  )
}
