/** The frame of a page: breadcrumbs, title and actions. */
import { Group, Text, Title } from '@mantine/core'
import { account } from 'documents/accounts'
import { issuer } from 'documents/issuers'
import { Fragment, type ReactNode, useEffect } from 'react'
import { accountHref, issuerHref, useConsoleContext } from '../console-context'
import { useQuery } from '../graphql/hooks'
import { Icon } from './icon'
import { TextLink } from './link'
import classes from './page.module.css'

export interface Crumb {
  label: string
  href: string
}

interface Props {
  title: string
  /** A short text that describes the page or its resource. */
  lead?: ReactNode
  /** Breadcrumbs that follow the breadcrumb of the issuer or account. */
  crumbs?: readonly Crumb[]
  /** Shown beside the title, such as a status. */
  badge?: ReactNode
  actions?: ReactNode
  children: ReactNode
}

export function Page({ title, lead, crumbs = [], badge, actions, children }: Props) {
  useEffect(() => {
    document.title = `${title} · Gatehouse`
  }, [title])
  return (
    <div className={classes.page}>
      <Crumbs crumbs={crumbs} />
      <Group justify="space-between" align="flex-start" gap="md" mt={6} mb={24} className={classes.head}>
        <div className={classes.title}>
          <Group gap={10} align="center">
            <Title order={1}>{title}</Title>
            {badge}
          </Group>
          {lead && (
            <Text c="dimmed" mt={4} size="md" component="div">
              {lead}
            </Text>
          )}
        </div>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </div>
  )
}

function Crumbs({ crumbs }: { crumbs: readonly Crumb[] }) {
  const { accountId, issuerId } = useConsoleContext()
  const accountQuery = useQuery(account, { accountId }, { cacheFirst: true })
  const issuerQuery = useQuery(issuer, { accountId, issuerId }, { pause: issuerId === '', cacheFirst: true })
  const all: Crumb[] = [{ label: accountQuery.data?.account.name ?? 'Account', href: accountHref(accountId) }]
  if (issuerId !== '') {
    all.push({ label: 'Issuers', href: `${accountHref(accountId)}/issuers` })
    all.push({ label: issuerQuery.data?.issuer.name ?? 'Issuer', href: issuerHref(accountId, issuerId) })
  }
  all.push(...crumbs)
  return (
    <nav aria-label="Breadcrumbs" className={classes.crumbs}>
      {all.map(({ label, href }, at) => (
        <Fragment key={href}>
          {at > 0 && <Icon name="chevronRight" size={12} />}
          <TextLink href={href} c="dimmed" size="xs" underline="hover">
            {label}
          </TextLink>
        </Fragment>
      ))}
    </nav>
  )
}
