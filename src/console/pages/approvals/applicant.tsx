/** One person at the approval desk: what is known, and the decision. */
import { Alert, Button, Group, Kbd, Stack, Textarea } from '@mantine/core'
import { approval, decideApproval } from 'documents/approvals'
import { useState } from 'react'
import type { Fault } from '../../graphql/fault'
import { useAsk, useRun } from '../../graphql/hooks'
import { Card, Facts } from '../../parts/card'
import { Icon } from '../../parts/icon'
import { FaultState, RowsLoading } from '../../parts/states'
import { Copyable, Moment } from '../../parts/values'
import { usePlace } from '../../place'
import { userName } from '../users/names'
import classes from './approvals.module.css'
import type { Decision } from './index'

interface Props {
  userId: string
  /** What is being decided; nothing is sent yet. */
  deciding: Decision | undefined
  setDeciding: (decision: Decision | undefined) => void
  onBack: () => void
  onDone: () => void
}

export function Applicant({ userId, deciding, setDeciding, onBack, onDone }: Props) {
  const { accountId, issuerId, may } = usePlace()
  const [busy, setBusy] = useState(false)
  // Who has been decided about is here no more: not to be asked for again.
  const { data, fault, loading, again } = useAsk(approval, { accountId, issuerId, userId }, { pause: busy })
  if (loading || (!data && !fault)) {
    return (
      <Card flush>
        <RowsLoading />
      </Card>
    )
  }
  if (!data) {
    return (
      <Card>
        <FaultState fault={fault!} again={again} />
      </Card>
    )
  }
  const user = data.approval
  const name = userName(user)
  const known = Object.entries(user.profile).filter(([, value]) =>
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
        All who wait
      </Button>
      <Card title={name} text={user.username}>
        <Stack gap="lg">
          {user.signupReason && <blockquote className={classes.quote}>{user.signupReason}</blockquote>}
          <Facts
            rows={[
              ['Signed up', <Moment key="at" at={user.createdAt} />],
              ['Email address confirmed', user.emailVerified ? 'yes' : 'no'],
              user.triggeredRule ? ['Waits because of', user.triggeredRule] : undefined,
              user.region ? ['Region', user.region] : undefined,
              ...known.map(([key, value]) => [labelOf(key), String(value)] as const),
              ['User id', <Copyable key="id" value={user.id} label="user id" />],
            ]}
          />
          {!may('decideApproval') ? (
            <Alert variant="light" icon={<Icon name="lock" />}>
              You may look, but not decide.
            </Alert>
          ) : deciding ? (
            <Verdict
              key={deciding}
              userId={userId}
              name={name}
              decision={deciding}
              busy={busy}
              setBusy={setBusy}
              onCancel={() => setDeciding(undefined)}
              onDone={onDone}
            />
          ) : (
            <Group gap="xs">
              <Button leftSection={<Icon name="check" />} onClick={() => setDeciding('approve')}>
                Approve
              </Button>
              <Button
                variant="outline"
                color="red"
                leftSection={<Icon name="close" />}
                onClick={() => setDeciding('reject')}
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

/** A claim's name for people: `given_name` is Given name. */
const labelOf = (claim: string): string => `${claim.charAt(0).toUpperCase()}${claim.slice(1).replaceAll('_', ' ')}`

interface VerdictProps {
  userId: string
  name: string
  decision: Decision
  busy: boolean
  setBusy: (busy: boolean) => void
  onCancel: () => void
  onDone: () => void
}

function Verdict({ userId, name, decision, busy, setBusy, onCancel, onDone }: VerdictProps) {
  const { accountId, issuerId } = usePlace()
  const run = useRun()
  const [reason, setReason] = useState('')
  const [note, setNote] = useState('')
  const [fault, setFault] = useState<string>()
  const isDenial = decision === 'reject'
  const send = async () => {
    if (isDenial && reason.trim() === '') {
      setFault('Say why: the person is told.')
      return
    }
    setBusy(true)
    const input = { action: decision, reason: reason.trim() || null, note: note.trim() || null }
    try {
      await run(
        decideApproval,
        { accountId, issuerId, userId, input },
        { done: isDenial ? `${name} is turned down` : `${name} is let in`, typenames: ['Approval', 'User'] },
      )
      onDone()
    } catch (trouble) {
      setFault((trouble as Fault).message)
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
            description="Shown to the person."
            required
            autosize
            minRows={2}
            ref={focusOn}
            value={reason}
            error={fault}
            onChange={(event) => {
              setReason(event.currentTarget.value)
              setFault(undefined)
            }}
          />
        )}
        <Textarea
          label="Note"
          description="For your own people; never shown to the person."
          autosize
          minRows={1}
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
        />
        {!isDenial && fault && (
          <Alert color="red" variant="light" role="alert" icon={<Icon name="warning" />}>
            {fault}
          </Alert>
        )}
        <Group gap="xs">
          <Button type="submit" loading={busy} {...(isDenial ? { color: 'red' } : { ref: focusOn })}>
            {isDenial ? 'Deny' : 'Approve'}
          </Button>
          <Button variant="default" onClick={onCancel} disabled={busy}>
            Cancel
          </Button>
          <span className={classes.hint}>
            <Kbd size="xs">Ctrl</Kbd> <Kbd size="xs">Enter</Kbd> sends, <Kbd size="xs">Esc</Kbd> goes back
          </span>
        </Group>
      </Stack>
    </form>
  )
}

/** The cursor goes where the next key is meant. After the key that opened the form, so that it does not type itself. */
const focusOn = (element: HTMLElement | null): void => {
  if (element) setTimeout(() => element.focus())
}
