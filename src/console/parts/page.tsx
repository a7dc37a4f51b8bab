/** The frame of a page: where it is, what it is called, what can be done there. */
import { Group, Text, Title } from '@mantine/core'
import { account } from 'documents/accounts'
import { issuer } from 'documents/issuers'
import { Fragment, type ReactNode, useEffect } from 'react'
import { useAsk } from '../graphql/hooks'
import { accountHref, issuerHref, usePlace } from '../place'
import { Icon } from './icon'
import { TextLink } from './link'
import classes from './page.module.css'

export interface Crumb {
  label: string
  href: string
}

interface Props {
  title: string
  /** One sentence about what is here. */
  lead?: ReactNode
  /** Between the issuer's or account's own crumb and this page. */
  crumbs?: readonly Crumb[]
  /** Beside the title: a status. */
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
  const { accountId, issuerId } = usePlace()
  const inAccount = useAsk(account, { accountId }, { known: true })
  const inIssuer = useAsk(issuer, { accountId, issuerId }, { pause: issuerId === '', known: true })
  const all: Crumb[] = [{ label: inAccount.data?.account.name ?? 'Account', href: accountHref(accountId) }]
  if (issuerId !== '') {
    all.push({ label: 'Issuers', href: `${accountHref(accountId)}/issuers` })
    all.push({ label: inIssuer.data?.issuer.name ?? 'Issuer', href: issuerHref(accountId, issuerId) })
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
