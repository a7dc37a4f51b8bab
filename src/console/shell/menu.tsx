import { account } from 'documents/accounts'
import { issuer } from 'documents/issuers'
import { Link, useLocation } from 'wouter'
import { useAsk } from '../graphql/hooks'
import { type Resource, resources } from '../navigation'
import { Icon } from '../parts/icon'
import { accountHref, hrefOf, issuerHref, usePlace } from '../place'
import classes from './shell.module.css'

/** The resources of the place, those of its issuer first, as far as the caller may see them. */
export function Menu() {
  const { accountId, issuerId } = usePlace()
  const inIssuer = useAsk(issuer, { accountId, issuerId }, { pause: issuerId === '', known: true })
  const inAccount = useAsk(account, { accountId }, { pause: accountId === '', known: true })
  return (
    <nav aria-label="Main">
      {issuerId !== '' && (
        <Group heading={inIssuer.data?.issuer.name ?? 'Issuer'} of="issuer" base={issuerHref(accountId, issuerId)} />
      )}
      <Group
        heading={issuerId === '' ? undefined : (inAccount.data?.account.name ?? 'Account')}
        of="account"
        base={accountHref(accountId)}
      />
    </nav>
  )
}

interface GroupProps {
  heading: string | undefined
  of: Resource['in']
  base: string
}

function Group({ heading, of, base }: GroupProps) {
  const place = usePlace()
  const [location] = useLocation()
  const here = hrefOf(place)
  const offered = resources.filter((resource) => resource.in === of && place.may(resource.needs))
  return (
    <div className={classes.group}>
      {heading && <span className={classes.heading}>{heading}</span>}
      {offered.map(({ path, label, icon }) => {
        const href = path === '' ? base : `${base}/${path}`
        const isHere = base === here && (location === href || (path !== '' && location.startsWith(`${href}/`)))
        return (
          <Link key={href} href={href} className={classes.entry} aria-current={isHere ? 'page' : undefined}>
            <Icon name={icon} size={17} />
            {label}
          </Link>
        )
      })}
    </div>
  )
}
