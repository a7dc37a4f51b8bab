/** Small values: ids to copy, times and statuses. */
import { ActionIcon, CopyButton, Group, Text, Tooltip } from '@mantine/core'
import { Icon } from './icon'
import classes from './values.module.css'

/** A value with a copy button, such as an id or URL. */
export function Copyable({ value, label }: { value: string; label: string }) {
  return (
    <Group gap={4} wrap="nowrap" component="span" className={classes.copyable}>
      <Text span ff="monospace" fz="0.7813rem" className={classes.value}>
        {value}
      </Text>
      <CopyAction value={value} label={`Copy ${label}`} />
    </Group>
  )
}

export function CopyAction({ value, label }: { value: string; label: string }) {
  return (
    <CopyButton value={value} timeout={1500}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : label}>
          <ActionIcon
            component="span"
            role="button"
            tabIndex={0}
            variant="subtle"
            color={copied ? 'teal' : 'gray'}
            size="sm"
            aria-label={label}
            onClick={copy}
            onKeyDown={(event) => {
              if (event.key === 'Enter' || event.key === ' ') copy()
            }}
          >
            <Icon name={copied ? 'check' : 'copy'} size={14} />
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  )
}

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000_000],
  ['month', 2_592_000_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
]
const relativeFormat = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const absoluteFormat = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' })

function formatRelativeTime(at: number): string {
  const elapsed = at - Date.now()
  const [unit, size] = units.find(([, length]) => Math.abs(elapsed) >= length) ?? ['second', 1000]
  return unit === 'second' ? 'just now' : relativeFormat.format(Math.round(elapsed / size), unit)
}

/** @param at Unix milliseconds; for null and undefined, shows "never" */
export function RelativeTime({ at }: { at: number | null | undefined }) {
  if (at === null || at === undefined)
    return (
      <Text span c="dimmed">
        never
      </Text>
    )
  return (
    <Tooltip label={absoluteFormat.format(at)}>
      <time dateTime={new Date(at).toISOString()} className={classes.time}>
        {formatRelativeTime(at)}
      </time>
    </Tooltip>
  )
}

/** Colors of statuses. All other statuses are `quiet`. */
const statusTones: Record<string, string> = {
  active: 'good',
  delivered: 'good',
  verified: 'good',
  accepted: 'good',
  pending: 'wait',
  pending_approval: 'wait',
  not_ready: 'wait',
  inactive: 'quiet',
  disabled: 'quiet',
  expired: 'quiet',
  deleted: 'quiet',
  pending_deletion: 'quiet',
  suspended: 'bad',
  blocked: 'bad',
  revoked: 'bad',
  failing: 'bad',
  failed: 'bad',
}

export function StatusBadge({ value }: { value: string }) {
  return (
    <span className={classes.status} data-tone={statusTones[value] ?? 'quiet'}>
      {value.replaceAll('_', ' ')}
    </span>
  )
}
