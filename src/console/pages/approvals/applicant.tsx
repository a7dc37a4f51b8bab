/** The details of a pending sign-up, and the form that approves or denies it. */
import { Alert, Button, Group, Kbd, Stack, Textarea } from '@mantine/core'
import { approval, decideApproval } from 'documents/approvals'
import { useState } from 'react'
import { Card, DescriptionList } from '../../components/card'
import { Icon } from '../../components/icon'
import { ErrorState, RowsLoading } from '../../components/states'
import { Copyable, RelativeTime } from '../../components/values'
import { useConsoleContext } from '../../console-context'
import { useMutation, useQuery } from '../../graphql/hooks'
import type { RequestError } from '../../graphql/request-error'
import { userName } from '../users/names'
import classes from './approvals.module.css'

export type Decision = 'approve' | 'reject'

interface Props {
  userId: string
  /** The decision whose form is open and which was not sent yet; undefined if no form is open. */
  pendingDecision: Decision | undefined
  setPendingDecision: (decision: Decision | undefined) => void
  onBack: () => void
  onDone: () => void
}

export function Applicant({ userId, pendingDecision, setPendingDecision, onBack, onDone }: Props) {
  const { accountId, issuerId, may } = useConsoleContext()
  const [busy, setBusy] = useState(false)
  // A decided sign-up can no longer be read, so the query is paused while the decision is sent.
  const { data, error, loading, refetch } = useQuery(approval, { accountId, issuerId, userId }, { pause: busy })
  if (loading || (!data && !error)) {
    return (
      <Card flush>
        <RowsLoading />
      </Card>
    )
  }
  if (!data) {
    return (
      <Card>
        <ErrorState error={error!} onRetry={refetch} />
      </Card>
    )
  }
  const user = data.approval
  const name = userName(user)
  const scalarClaims = Object.entries(user.profile).filter(([, value]) =>
    ['string', 'number', 'boolean'].includes(typeof value),
  )
  return (
    <div className={classes.applicant}>
      <Button
        className={classes.back}
        variant="subtle"
        color="gray"
        leftSection={<Icon name="chevronLeft" size={14} />}
        onClick={onBack}
      >
        All pending sign-ups
      </Button>
      <Card title={name} text={user.username}>
        <Stack gap="lg">
          {user.signupReason && <blockquote className={classes.quote}>{user.signupReason}</blockquote>}
          <DescriptionList
            rows={[
              ['Signed up', <RelativeTime key="at" at={user.createdAt} />],
              ['Email verified', user.emailVerified ? 'yes' : 'no'],
              user.triggeredRule ? ['Approval rule', user.triggeredRule] : undefined,
              user.region ? ['Region', user.region] : undefined,
              ...scalarClaims.map(([key, value]) => [claimLabel(key), String(value)] as const),
              ['User ID', <Copyable key="id" value={user.id} label="user ID" />],
            ]}
          />
          {!may('decideApproval') ? (
            <Alert variant="light" icon={<Icon name="lock" />}>
              You do not have permission to approve or deny sign-ups.
            </Alert>
          ) : pendingDecision ? (
            <DecisionForm
              key={pendingDecision}
              userId={userId}
              name={name}
              decision={pendingDecision}
              busy={busy}
              setBusy={setBusy}
              onCancel={() => setPendingDecision(undefined)}
              onDone={onDone}
            />
          ) : (
            <Group gap="xs">
              <Button leftSection={<Icon name="check" />} onClick={() => setPendingDecision('approve')}>
                Approve
              </Button>
              <Button
                variant="outline"
                color="red"
                leftSection={<Icon name="close" />}
                onClick={() => setPendingDecision('reject')}
              >
                Deny
              </Button>
            </Group>
          )}
        </Stack>
      </Card>
    </div>
  )
}

/** Returns the label of a claim, such as "Given name" for `given_name`. */
const claimLabel = (claim: string): string => `${claim.charAt(0).toUpperCase()}${claim.slice(1).replaceAll('_', ' ')}`

interface DecisionFormProps {
  userId: string
  name: string
  decision: Decision
  busy: boolean
  setBusy: (busy: boolean) => void
  onCancel: () => void
  onDone: () => void
}

function DecisionForm({ userId, name, decision, busy, setBusy, onCancel, onDone }: DecisionFormProps) {
  const { accountId, issuerId } = useConsoleContext()
  const mutate = useMutation()
  const [reason, setReason] = useState('')
  const [note, setNote] = useState('')
  const [errorMessage, setErrorMessage] = useState<string>()
  const isDenial = decision === 'reject'
  const send = async () => {
    if (isDenial && reason.trim() === '') {
      setErrorMessage('Enter a reason. It is shown to the user.')
      return
    }
    setBusy(true)
    const input = { action: decision, reason: reason.trim() || null, note: note.trim() || null }
    try {
      await mutate(
        decideApproval,
        { accountId, issuerId, userId, input },
        { successMessage: isDenial ? `${name} denied` : `${name} approved`, typenames: ['Approval', 'User'] },
      )
      onDone()
    } catch (error) {
      setErrorMessage((error as RequestError).message)
      setBusy(false)
    }
  }
  return (
    <form
      aria-label={isDenial ? `Deny ${name}` : `Approve ${name}`}
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onCancel()
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void send()
      }}
    >
      <Stack gap="md">
        {isDenial && (
          <Textarea
            label="Reason"
            description="Shown to the user."
            required
            autosize
            minRows={2}
            ref={focusOnMount}
            value={reason}
            error={errorMessage}
            onChange={(event) => {
              setReason(event.currentTarget.value)
              setErrorMessage(undefined)
            }}
          />
        )}
        <Textarea
          label="Note"
          description="Internal. Not shown to the user."
          autosize
          minRows={1}
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
        />
        {!isDenial && errorMessage && (
          <Alert color="red" variant="light" role="alert" icon={<Icon name="warning" />}>
            {errorMessage}
          </Alert>
        )}
        <Group gap="xs">
          <Button type="submit" loading={busy} {...(isDenial ? { color: 'red' } : { ref: focusOnMount })}>
            {isDenial ? 'Deny' : 'Approve'}
          </Button>
          <Button variant="default" onClick={onCancel} disabled={busy}>
            Cancel
          </Button>
          <span className={classes.hint}>
            <Kbd size="xs">Ctrl</Kbd> <Kbd size="xs">Enter</Kbd> to send, <Kbd size="xs">Esc</Kbd> to cancel
          </span>
        </Group>
      </Stack>
    </form>
  )
}

/** Focuses an element after the current key event, so that the key that opened the form is not typed into it. */
const focusOnMount = (element: HTMLElement | null): void => {
  if (element) setTimeout(() => element.focus())
}
