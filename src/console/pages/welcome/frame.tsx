/** What stands around the pages of the first run: no menu yet, but the way that is gone. */
import { Group, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { Icon } from '../../parts/icon'
import classes from './welcome.module.css'

export const steps = ['Administrator', 'First issuer', 'First application'] as const

interface Props {
  title: string
  lead: ReactNode
  /** Counted from 0; without one the steps are not shown. */
  step?: number
  children: ReactNode
}

export function Frame({ title, lead, step, children }: Props) {
  useEffect(() => {
    document.title = `${title} · Gatehouse`
  }, [title])
  return (
    <main className={classes.frame}>
      {step !== undefined && (
        <ol className={classes.steps} aria-label="Steps">
          {steps.map((name, at) => (
            <li
              key={name}
              {...(at < step && { 'data-done': true })}
              {...(at === step && { 'aria-current': 'step' as const })}
            >
              <span aria-hidden="true">{at < step ? <Icon name="check" size={13} /> : at + 1}</span>
              {name}
            </li>
          ))}
        </ol>
      )}
      <Title order={1}>{title}</Title>
      <Text c="dimmed" mt={4} mb={24} component="div">
        {lead}
      </Text>
      {children}
    </main>
  )
}

/** The last line: what to do else. */
export const Foot = ({ children }: { children: ReactNode }) => (
  <Group className={classes.foot} gap="xs">
    {children}
  </Group>
)
