import { account } from 'documents/accounts'
import { issuer } from 'documents/issuers'
import { Link, useLocation } from 'wouter'
import { Icon } from '../components/icon'
import { accountHref, baseHref, issuerHref, useConsoleContext } from '../console-context'
import { useQuery } from '../graphql/hooks'
import { type ConsoleResource, consoleResources } from '../navigation'
import classes from './shell.module.css'

/** The menu: the resources of the open issuer, then those of the account, as far as the caller may see them. */
export function MainNavigation() {
  const { accountId, issuerId } = useConsoleContext()
  const issuerQuery = useQuery(issuer, { accountId, issuerId }, { pause: issuerId === '', cacheFirst: true })
  const accountQuery = useQuery(account, { accountId }, { pause: accountId === '', cacheFirst: true })
  return (
    <nav aria-label="Main">
      {issuerId !== '' && (
        <NavigationGroup
          heading={issuerQuery.data?.issuer.name ?? 'Issuer'}
          level="issuer"
          base={issuerHref(accountId, issuerId)}
        />
      )}
      <NavigationGroup
        heading={issuerId === '' ? undefined : (accountQuery.data?.account.name ?? 'Account')}
        level="account"
        base={accountHref(accountId)}
      />
    </nav>
  )
}

interface NavigationGroupProps {
  heading: string | undefined
  level: ConsoleResource['level']
  base: string
}

function NavigationGroup({ heading, level, base }: NavigationGroupProps) {
  const context = useConsoleContext()
  const [location] = useLocation()
  const currentBase = baseHref(context)
  const visibleResources = consoleResources.filter(
    (resource) => resource.level === level && context.may(resource.requiredQuery),
  )
  return (
    <div className={classes.group}>
      {heading && <span className={classes.heading}>{heading}</span>}
      {visibleResources.map(({ path, label, icon }) => {
        const href = path === '' ? base : `${base}/${path}`
        const isCurrent =
          base === currentBase && (location === href || (path !== '' && location.startsWith(`${href}/`)))
        return (
          <Link key={href} href={href} className={classes.entry} aria-current={isCurrent ? 'page' : undefined}>
            <Icon name={icon} size={17} />
            {label}
          </Link>
        )
      })}
    </div>
  )
}
