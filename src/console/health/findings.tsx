/** Health findings: the list on overview pages, and the findings of a setting below the setting. */
import { Button, Skeleton, Text, VisuallyHidden } from '@mantine/core'
import { createContext, type ReactNode, useContext } from 'react'
import { Card } from '../components/card'
import { Icon } from '../components/icon'
import { LinkButton, TextLink } from '../components/link'
import classes from './findings.module.css'
import { type Finding, isFindingForPath, useFindingHref, useFindings, useFixLink } from './use-findings'

const severityNames = { ERROR: 'Error', WARNING: 'Warning', INFO: 'Information' } as const

const SeverityIcon = ({ severity }: { severity: Finding['severity'] | 'none' }) => (
  <span className={classes.mark} data-severity={severity}>
    <Icon name={severity === 'none' ? 'check' : severity === 'INFO' ? 'info' : 'warning'} size={18} />
    {severity !== 'none' && <VisuallyHidden>{severityNames[severity]}: </VisuallyHidden>}
  </span>
)

const FindingText = ({ message, fix, link }: Finding & { link?: { href: string; label: string } | undefined }) => (
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

/** Lists all findings of the current issuer or account. */
export function HealthCard() {
  const { findings, error, refetch } = useFindings()
  const findingHref = useFindingHref()
  return (
    <Card flush title="Health" text="Features that do not work, settings that have no effect, and security risks.">
      <ul className={classes.list} aria-label="Findings" aria-busy={!findings && !error}>
        {error && (
          <li>
            <SeverityIcon severity="WARNING" />
            <Text size="sm">The findings could not be loaded. {error.message}</Text>
            <Button variant="default" size="xs" onClick={refetch}>
              Try again
            </Button>
          </li>
        )}
        {!findings && !error && (
          <li>
            <Skeleton h={18} w={18} circle />
            <Skeleton h={14} w="42%" />
          </li>
        )}
        {findings?.length === 0 && (
          <li>
            <SeverityIcon severity="none" />
            <Text size="sm">No problems found.</Text>
          </li>
        )}
        {findings?.map((finding) => (
          <li key={`${finding.code} ${finding.path}`} data-code={finding.code}>
            <SeverityIcon severity={finding.severity} />
            <FindingText {...finding} />
            <LinkButton
              href={findingHref(finding)}
              variant="default"
              size="xs"
              aria-label={`Review: ${finding.message}`}
            >
              Review
            </LinkButton>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function FindingList({ findings, className }: { findings: readonly Finding[]; className?: string | undefined }) {
  const fixLink = useFixLink()
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
          <SeverityIcon severity={finding.severity} />
          <FindingText {...finding} link={fixLink(finding)} />
        </div>
      ))}
    </div>
  )
}

/** The findings of one resource. @param path as in `Finding.path` */
export function ResourceFindings({ path }: { path: string }) {
  const { findings = [] } = useFindings()
  return <FindingList className={classes.above} findings={findings.filter((finding) => finding.path === path)} />
}

const FieldFindingsContext = createContext<readonly Finding[]>([])

/** Provides the findings to the form fields among its children. Fields and findings are matched by path. */
export function FieldFindingsProvider({ children }: { children: ReactNode }) {
  const { findings = [] } = useFindings()
  return <FieldFindingsContext value={findings}>{children}</FieldFindingsContext>
}

/** Shows the findings of one field below the field. */
export function FieldFindings({ path }: { path: string }) {
  const findings = useContext(FieldFindingsContext).filter((finding) => isFindingForPath(path, finding))
  return <FindingList className={classes.below} findings={findings} />
}

/** Shows the findings of settings that have no field. It is placed above the forms of the section. */
export function SectionFindings({ sections, fields }: { sections: string[]; fields: readonly { path: string }[] }) {
  const findings = useContext(FieldFindingsContext).filter(
    (finding) =>
      sections.some((section) => isFindingForPath(section, finding)) &&
      !fields.some(({ path }) => isFindingForPath(path, finding)),
  )
  return <FindingList className={classes.above} findings={findings} />
}
