import { Group, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './card.module.css'

interface Props {
  title?: ReactNode
  text?: ReactNode
  actions?: ReactNode
  /** Without room around its content, as lists want it. */
  flush?: boolean
  tone?: 'danger'
  children: ReactNode
}

/** A block of a page. */
export function Card({ title, text, actions, flush = false, tone, children }: Props) {
  return (
    <section className={classes.card} data-tone={tone}>
      {(title || actions) && (
        <Group justify="space-between" align="flex-start" className={classes.head} data-flush={flush || undefined}>
          <div>
            {title && <Title order={2}>{title}</Title>}
            {text && (
              <Text c="dimmed" size="sm" mt={2}>
                {text}
              </Text>
            )}
          </div>
          {actions}
        </Group>
      )}
      <div className={flush ? undefined : classes.body}>{children}</div>
    </section>
  )
}

/** Names and values of a thing. */
export function Facts({ rows }: { rows: readonly (readonly [label: string, value: ReactNode] | undefined)[] }) {
  return (
    <dl className={classes.facts}>
      {rows.flatMap((row) =>
        row === undefined
          ? []
          : [
              <div key={row[0]}>
                <dt>{row[0]}</dt>
                <dd>{row[1]}</dd>
              </div>,
            ],
      )}
    </dl>
  )
}
