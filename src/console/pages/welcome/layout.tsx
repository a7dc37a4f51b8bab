/** The layout of the first-run pages, with the list of steps, and of /console/try, without it. Both have no menu. */
import { Group, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { Icon } from '../../components/icon'
import classes from './welcome.module.css'

export const steps = ['Administrator', 'First issuer', 'First application'] as const

interface Props {
  title: string
  lead: ReactNode
  /** Index of the current step, from 0; if undefined, the steps are hidden. */
  step?: number
  children: ReactNode
}

export function WelcomeLayout({ title, lead, step, children }: Props) {
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

/** The last line of a page, with links to other pages. */
export const WelcomeFooter = ({ children }: { children: ReactNode }) => (
  <Group className={classes.foot} gap="xs">
    {children}
  </Group>
)
