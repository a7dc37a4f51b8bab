import { Group, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './card.module.css'

interface Props {
  title?: ReactNode
  text?: ReactNode
  actions?: ReactNode
  /** True to omit the padding around the content, for lists. */
  flush?: boolean
  tone?: 'danger'
  children: ReactNode
}

/** A section of a page. */
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

/** A list of labels and values. */
export function DescriptionList({
  rows,
}: {
  rows: readonly (readonly [label: string, value: ReactNode] | undefined)[]
}) {
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
