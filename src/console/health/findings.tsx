/** The checklist of an overview, and each finding at the setting that it is about. */
import { Skeleton, Text, VisuallyHidden } from '@mantine/core'
import { createContext, type ReactNode, useContext } from 'react'
import { Card } from '../parts/card'
import { Icon } from '../parts/icon'
import { LinkButton, TextLink } from '../parts/link'
import classes from './findings.module.css'
import { type Finding, isAbout, useFindingHref, useFindings, useFixLink } from './use-findings'

const severityNames = { ERROR: 'Error', WARNING: 'Warning', INFO: 'Information' } as const

const Mark = ({ severity }: { severity: Finding['severity'] | 'none' }) => (
  <span className={classes.mark} data-severity={severity}>
    <Icon name={severity === 'none' ? 'check' : severity === 'INFO' ? 'info' : 'warning'} size={18} />
    {severity !== 'none' && <VisuallyHidden>{severityNames[severity]}: </VisuallyHidden>}
  </span>
)

const Sentences = ({ message, fix, link }: Finding & { link?: { href: string; label: string } | undefined }) => (
  <div className={classes.text}>
    <Text size="sm">{message}</Text>
    <Text size="sm" c="dimmed" mt={2}>
      {fix}{' '}
      {link && (
        <TextLink href={link.href} size="sm" underline="always">
          {link.label}
        </TextLink>
      )}
    </Text>
  </div>
)

/** Everything that health finds at this place. */
export function HealthCard() {
  const findings = useFindings()
  const hrefOf = useFindingHref()
  return (
    <Card flush title="Health" text="Settings that do not work, or that put people at risk.">
      <ul className={classes.list} aria-label="Findings" aria-busy={findings === undefined}>
        {findings === undefined && (
          <li>
            <Skeleton h={18} w={18} circle />
            <Skeleton h={14} w="42%" />
          </li>
        )}
        {findings?.length === 0 && (
          <li>
            <Mark severity="none" />
            <Text size="sm">No problems found.</Text>
          </li>
        )}
        {findings?.map((finding) => (
          <li key={`${finding.code} ${finding.path}`} data-code={finding.code}>
            <Mark severity={finding.severity} />
            <Sentences {...finding} />
            <LinkButton href={hrefOf(finding)} variant="default" size="xs" aria-label={`Review: ${finding.message}`}>
              Review
            </LinkButton>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function Notes({ findings, className }: { findings: readonly Finding[]; className?: string | undefined }) {
  const linkOf = useFixLink()
  if (findings.length === 0) return null
  return (
    <div className={`${classes.notes} ${className ?? ''}`}>
      {findings.map((finding) => (
        <div
          key={`${finding.code} ${finding.path}`}
          className={classes.note}
          role="note"
          data-code={finding.code}
          data-severity={finding.severity}
        >
          <Mark severity={finding.severity} />
          <Sentences {...finding} link={linkOf(finding)} />
        </div>
      ))}
    </div>
  )
}

/** What health finds about one thing, above it. @param path as in `Finding.path` */
export function FindingsAt({ path }: { path: string }) {
  const findings = useFindings() ?? []
  return <Notes className={classes.above} findings={findings.filter((finding) => finding.path === path)} />
}

const OfFields = createContext<readonly Finding[]>([])

/** The fields inside show what health finds about them; fields have the names of the contract. */
export function FindingsOfFields({ children }: { children: ReactNode }) {
  return <OfFields value={useFindings() ?? []}>{children}</OfFields>
}

/** Below a field: what health finds about it. */
export function FieldFindings({ path }: { path: string }) {
  const findings = useContext(OfFields).filter((finding) => isAbout(path, finding))
  return <Notes className={classes.below} findings={findings} />
}

/** Above the forms of a section: what health finds about its settings that have no field. */
export function OtherFindings({ within, fields }: { within: string[]; fields: readonly { path: string }[] }) {
  const findings = useContext(OfFields).filter(
    (finding) =>
      within.some((section) => isAbout(section, finding)) && !fields.some(({ path }) => isAbout(path, finding)),
  )
  return <Notes className={classes.above} findings={findings} />
}
