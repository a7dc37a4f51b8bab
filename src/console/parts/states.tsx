/** What a place shows when it has nothing to show: it waits, it is empty, it failed. Each says what to do. */
import { Button, Center, Skeleton, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Fault } from '../graphql/fault'
import { Icon, type IconName } from './icon'
import { LinkButton } from './link'
import classes from './states.module.css'

interface EmptyProps {
  icon: IconName
  title: string
  children: ReactNode
  /** A button: what to do first. */
  action?: string
  href?: string
  onAction?: () => void
}

export function EmptyState({ icon, title, children, action, href, onAction }: EmptyProps) {
  return (
    <Center py={64} px="md">
      <Stack align="center" gap={6} maw={420}>
        <span className={classes.badge}>
          <Icon name={icon} size={22} />
        </span>
        <Title order={2} ta="center" mt={10}>
          {title}
        </Title>
        <Text c="dimmed" ta="center" size="sm">
          {children}
        </Text>
        {action && href && (
          <LinkButton href={href} mt="md">
            {action}
          </LinkButton>
        )}
        {action && onAction && (
          <Button mt="md" onClick={onAction}>
            {action}
          </Button>
        )}
      </Stack>
    </Center>
  )
}

const advice: Record<string, { icon: IconName; title: string }> = {
  NOT_FOUND: { icon: 'search', title: 'It is not here' },
  FORBIDDEN: { icon: 'lock', title: 'You may not see this' },
  INSUFFICIENT_SCOPE: { icon: 'lock', title: 'You may not see this' },
  TOO_MANY_REQUESTS: { icon: 'pause', title: 'Too fast' },
  NETWORK: { icon: 'warning', title: 'No connection' },
}

export function FaultState({ fault, again }: { fault: Fault; again?: () => void }) {
  const { icon, title } = advice[fault.code] ?? { icon: 'warning' as const, title: 'That did not work' }
  return (
    <div role="alert">
      <EmptyState icon={icon} title={title} {...(again && { action: 'Try again', onAction: again })}>
        {fault.message}
        {fault.requestId && (
          <>
            <br />
            <Text span size="xs" ff="monospace">
              {fault.requestId}
            </Text>
          </>
        )}
      </EmptyState>
    </div>
  )
}

/** A page that is on its way. */
export function PageLoading() {
  return (
    <Stack gap="lg" role="status" aria-busy="true" aria-label="Loading">
      <Stack gap={8}>
        <Skeleton h={14} w={160} />
        <Skeleton h={28} w={260} />
      </Stack>
      <Skeleton h={220} radius="lg" />
    </Stack>
  )
}

/** Rows of a list that are on their way. */
export function RowsLoading({ rows = 6 }: { rows?: number }) {
  return (
    <Stack gap={0} role="status" aria-busy="true" aria-label="Loading">
      {Array.from({ length: rows }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same
        <div key={at} className={classes.row}>
          <Skeleton h={14} w={`${38 - (at % 3) * 8}%`} />
          <Skeleton h={14} w={90} />
          <Skeleton h={14} w={70} />
        </div>
      ))}
    </Stack>
  )
}
