/** The sessions of a user, with actions that suspend, reactivate and revoke them. */
import { ActionIcon, Button, Menu, Modal, Select, Stack, Switch, Textarea } from '@mantine/core'
import { reactivateSession, revokeSession, sessions, suspendSession } from 'documents/sessions'
import type { RevocationReason, SessionFieldsFragment, SuspensionReason } from 'documents/types'
import { useState } from 'react'
import { Icon } from '../../components/icon'
import { RelativeTime, StatusBadge } from '../../components/values'
import { useConsoleContext } from '../../console-context'
import { showError, useMutation } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { NameCell } from '../../list/list-table'
import { deviceName } from './device'

const reasons = {
  suspend: ['security_event', 'token_compromised', 'device_mismatch', 'risk_review', 'other'],
  revoke: ['admin_action', 'security_event', 'token_compromised', 'user_logout', 'inactivity', 'other'],
} as const

interface SessionAction {
  kind: 'suspend' | 'revoke'
  session: SessionFieldsFragment
}

export function UserSessions({ userId }: { userId: string }) {
  const { accountId, issuerId, may } = useConsoleContext()
  const mutate = useMutation()
  const [action, setAction] = useState<SessionAction>()
  const reactivate = (sessionId: string) =>
    mutate(reactivateSession, { accountId, issuerId, sessionId }, { successMessage: 'Session reactivated' }).catch(
      showError,
    )
  const endedStatuses = ['revoked', 'expired']
  return (
    <>
      <List
        label="Sessions"
        query={sessions}
        variables={{ accountId, issuerId, userId }}
        page={(data) => data.sessions}
        typename="Session"
        filters={[
          {
            name: 'status',
            label: 'Any status',
            options: ['active', 'inactive', 'suspended', 'revoked', 'expired'].map((value) => ({
              value,
              label: value,
            })),
          },
        ]}
        columns={[
          {
            header: 'Device',
            cell: ({ device }) => (
              <NameCell
                mark={<Icon name="device" />}
                name={deviceName(device.userAgent)}
                text={device.ipAddress ?? 'unknown IP address'}
              />
            ),
          },
          { header: 'Status', width: '130px', cell: ({ status }) => <StatusBadge value={status} /> },
          {
            header: 'Signed in',
            width: '140px',
            hideOnMobile: true,
            cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
          },
          {
            header: 'Last seen',
            width: '140px',
            hideOnMobile: true,
            cell: ({ lastActivityAt }) => <RelativeTime at={lastActivityAt} />,
          },
          {
            header: '',
            width: '60px',
            align: 'right',
            cell: (session) =>
              !endedStatuses.includes(session.status) &&
              may('revokeSession') && (
                <Menu position="bottom-end">
                  <Menu.Target>
                    <ActionIcon
                      variant="subtle"
                      color="gray"
                      aria-label={`Session of ${deviceName(session.device.userAgent)}`}
                    >
                      <Icon name="chevronDown" />
                    </ActionIcon>
                  </Menu.Target>
                  <Menu.Dropdown>
                    {session.status === 'suspended' ? (
                      <Menu.Item leftSection={<Icon name="play" />} onClick={() => void reactivate(session.id)}>
                        Reactivate
                      </Menu.Item>
                    ) : (
                      session.status === 'active' && (
                        <Menu.Item
                          leftSection={<Icon name="pause" />}
                          onClick={() => setAction({ kind: 'suspend', session })}
                        >
                          Suspend …
                        </Menu.Item>
                      )
                    )}
                    <Menu.Item
                      color="red"
                      leftSection={<Icon name="close" />}
                      onClick={() => setAction({ kind: 'revoke', session })}
                    >
                      Revoke …
                    </Menu.Item>
                  </Menu.Dropdown>
                </Menu>
              ),
          },
        ]}
        empty={{ icon: 'device', title: 'No sessions yet', text: 'Sessions appear here when the user signs in.' }}
      />
      {action && <SessionActionDialog {...action} onClose={() => setAction(undefined)} />}
    </>
  )
}

function SessionActionDialog({ kind, session, onClose }: SessionAction & { onClose: () => void }) {
  const { accountId, issuerId } = useConsoleContext()
  const mutate = useMutation()
  const [reason, setReason] = useState<string>(reasons[kind][0])
  const [details, setDetails] = useState('')
  const [appliesToAll, setAppliesToAll] = useState(false)
  const [busy, setBusy] = useState(false)
  const isSuspension = kind === 'suspend'
  const submit = async () => {
    setBusy(true)
    const variables = { accountId, issuerId, sessionId: session.id }
    const reasonDetails = details.trim() || null
    try {
      await (isSuspension
        ? mutate(
            suspendSession,
            {
              ...variables,
              input: { reason: reason as SuspensionReason, reasonDetails, suspendAllUserSessions: appliesToAll },
            },
            { successMessage: appliesToAll ? 'All sessions suspended' : 'Session suspended' },
          )
        : mutate(
            revokeSession,
            {
              ...variables,
              input: { reason: reason as RevocationReason, reasonDetails, revokeAllUserSessions: appliesToAll },
            },
            { successMessage: appliesToAll ? 'All sessions revoked' : 'Session revoked' },
          ))
      onClose()
    } catch (error) {
      showError(error)
      setBusy(false)
    }
  }
  return (
    <Modal opened onClose={onClose} title={isSuspension ? 'Suspend session' : 'Revoke session'}>
      <Stack gap="md">
        {isSuspension
          ? 'The tokens of the session stop working until you reactivate the session.'
          : 'The session ends permanently. Applications with a back-channel logout URI are notified.'}
        <Select
          label="Reason"
          value={reason}
          allowDeselect={false}
          data={reasons[kind].map((value) => ({ value, label: value.replaceAll('_', ' ') }))}
          onChange={(value) => setReason(value ?? reason)}
        />
        <Textarea
          label="Details"
          description="Internal. Not shown to the user."
          value={details}
          onChange={(event) => setDetails(event.currentTarget.value)}
        />
        <Switch
          label="Apply to all sessions of this user"
          checked={appliesToAll}
          onChange={(event) => setAppliesToAll(event.currentTarget.checked)}
        />
        <Button color={isSuspension ? undefined : 'red'} loading={busy} onClick={() => void submit()}>
          {isSuspension ? 'Suspend' : 'Revoke'}
        </Button>
      </Stack>
    </Modal>
  )
}
