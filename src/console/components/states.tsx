/** The empty, error and loading states of pages and lists. */
import { Button, Center, Skeleton, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import type { RequestError } from '../graphql/request-error'
import { Icon, type IconName } from './icon'
import { LinkButton } from './link'
import classes from './states.module.css'

interface EmptyProps {
  icon: IconName
  title: string
  children: ReactNode
  /** Label of a button with the next step. */
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

const errorDisplay: Record<string, { icon: IconName; title: string }> = {
  NOT_FOUND: { icon: 'search', title: 'Not found' },
  FORBIDDEN: { icon: 'lock', title: 'You do not have access' },
  INSUFFICIENT_SCOPE: { icon: 'lock', title: 'You do not have access' },
  TOO_MANY_REQUESTS: { icon: 'pause', title: 'Too many requests' },
  NETWORK: { icon: 'warning', title: 'No connection' },
}

export function ErrorState({ error, onRetry }: { error: RequestError; onRetry?: () => void }) {
  const { icon, title } = errorDisplay[error.code] ?? { icon: 'warning' as const, title: 'Something went wrong' }
  return (
    <div role="alert">
      <EmptyState icon={icon} title={title} {...(onRetry && { action: 'Try again', onAction: onRetry })}>
        {error.message}
        {error.requestId && (
          <>
            <br />
            <Text span size="xs" ff="monospace">
              {error.requestId}
            </Text>
          </>
        )}
      </EmptyState>
    </div>
  )
}

/** The placeholder of a page that is loading. */
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

/** The placeholder of a list that is loading. */
export function RowsLoading({ rows = 6 }: { rows?: number }) {
  return (
    <Stack gap={0} role="status" aria-busy="true" aria-label="Loading">
      {Array.from({ length: rows }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows never change
        <div key={at} className={classes.row}>
          <Skeleton h={14} w={`${38 - (at % 3) * 8}%`} />
          <Skeleton h={14} w={90} />
          <Skeleton h={14} w={70} />
        </div>
      ))}
    </Stack>
  )
}
