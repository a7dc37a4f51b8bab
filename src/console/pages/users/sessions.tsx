/** Where a user is signed in, with the means to end that. */
import { ActionIcon, Button, Menu, Modal, Select, Stack, Switch, Textarea } from '@mantine/core'
import { reactivateSession, revokeSession, sessions, suspendSession } from 'documents/sessions'
import type { RevocationReason, SessionFieldsFragment, SuspensionReason } from 'documents/types'
import { useState } from 'react'
import { tellFault, useRun } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Icon } from '../../parts/icon'
import { Moment, Status } from '../../parts/values'
import { usePlace } from '../../place'
import { deviceName } from './device'

const reasons = {
  suspend: ['security_event', 'token_compromised', 'device_mismatch', 'risk_review', 'other'],
  revoke: ['admin_action', 'security_event', 'token_compromised', 'user_logout', 'inactivity', 'other'],
} as const

interface Move {
  kind: 'suspend' | 'revoke'
  session: SessionFieldsFragment
}

export function UserSessions({ userId }: { userId: string }) {
  const { accountId, issuerId, may } = usePlace()
  const run = useRun()
  const [move, setMove] = useState<Move>()
  const reactivate = (sessionId: string) =>
    run(reactivateSession, { accountId, issuerId, sessionId }, { done: 'Session is active again' }).catch(tellFault)
  const ended = ['revoked', 'expired']
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
            head: 'Device',
            cell: ({ device }) => (
              <Named
                mark={<Icon name="device" />}
                name={deviceName(device.userAgent)}
                text={device.ipAddress ?? 'unknown address'}
              />
            ),
          },
          { head: 'Status', width: '130px', cell: ({ status }) => <Status value={status} /> },
          { head: 'Signed in', width: '140px', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
          {
            head: 'Last seen',
            width: '140px',
            wide: true,
            cell: ({ lastActivityAt }) => <Moment at={lastActivityAt} />,
          },
          {
            head: '',
            width: '60px',
            align: 'right',
            cell: (session) =>
              !ended.includes(session.status) &&
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
                          onClick={() => setMove({ kind: 'suspend', session })}
                        >
                          Suspend …
                        </Menu.Item>
                      )
                    )}
                    <Menu.Item
                      color="red"
                      leftSection={<Icon name="close" />}
                      onClick={() => setMove({ kind: 'revoke', session })}
                    >
                      Revoke …
                    </Menu.Item>
                  </Menu.Dropdown>
                </Menu>
              ),
          },
        ]}
        empty={{ icon: 'device', title: 'Signed in nowhere', text: 'Sessions appear here when the user signs in.' }}
      />
      {move && <MoveDialog {...move} onClose={() => setMove(undefined)} />}
    </>
  )
}

function MoveDialog({ kind, session, onClose }: Move & { onClose: () => void }) {
  const { accountId, issuerId } = usePlace()
  const run = useRun()
  const [reason, setReason] = useState<string>(reasons[kind][0])
  const [details, setDetails] = useState('')
  const [all, setAll] = useState(false)
  const [busy, setBusy] = useState(false)
  const isSuspension = kind === 'suspend'
  const go = async () => {
    setBusy(true)
    const at = { accountId, issuerId, sessionId: session.id }
    const reasonDetails = details.trim() || null
    try {
      await (isSuspension
        ? run(
            suspendSession,
            { ...at, input: { reason: reason as SuspensionReason, reasonDetails, suspendAllUserSessions: all } },
            { done: all ? 'All sessions suspended' : 'Session suspended' },
          )
        : run(
            revokeSession,
            { ...at, input: { reason: reason as RevocationReason, reasonDetails, revokeAllUserSessions: all } },
            { done: all ? 'All sessions revoked' : 'Session revoked' },
          ))
      onClose()
    } catch (fault) {
      tellFault(fault)
      setBusy(false)
    }
  }
  return (
    <Modal opened onClose={onClose} title={isSuspension ? 'Suspend the session' : 'Revoke the session'}>
      <Stack gap="md">
        {isSuspension
          ? 'Its tokens stop working until somebody reactivates it.'
          : 'The user is signed out there for good; its applications are told.'}
        <Select
          label="Reason"
          value={reason}
          allowDeselect={false}
          data={reasons[kind].map((value) => ({ value, label: value.replaceAll('_', ' ') }))}
          onChange={(value) => setReason(value ?? reason)}
        />
        <Textarea
          label="Details"
          description="For your own people."
          value={details}
          onChange={(event) => setDetails(event.currentTarget.value)}
        />
        <Switch
          label="Every session of this user"
          checked={all}
          onChange={(event) => setAll(event.currentTarget.checked)}
        />
        <Button color={isSuspension ? undefined : 'red'} loading={busy} onClick={() => void go()}>
          {isSuspension ? 'Suspend' : 'Revoke'}
        </Button>
      </Stack>
    </Modal>
  )
}
