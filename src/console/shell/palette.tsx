/** Ctrl+K: every place by its name, accounts and issuers, and the users of the issuer that is open. */
import '@mantine/spotlight/styles.css'
import { useDebouncedValue } from '@mantine/hooks'
import { createSpotlight, Spotlight, type SpotlightActionData, type SpotlightActionGroupData } from '@mantine/spotlight'
import { accounts } from 'documents/accounts'
import { issuers } from 'documents/issuers'
import { users } from 'documents/users'
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { useAsk } from '../graphql/hooks'
import { resources } from '../navigation'
import { userName } from '../pages/users/names'
import { Icon, type IconName } from '../parts/icon'
import { accountHref, hrefOf, issuerHref, usePlace } from '../place'
import classes from './shell.module.css'

const [store, actions] = createSpotlight()

export default function Palette({ onClose }: { onClose: () => void }) {
  const place = usePlace()
  const { accountId, issuerId, may } = place
  const [, navigate] = useLocation()
  const [query, setQuery] = useState('')
  const [search] = useDebouncedValue(query.trim(), 200)
  useEffect(() => actions.open(), [])

  const inAccounts = useAsk(accounts, { limit: 50 })
  const inIssuers = useAsk(issuers, { accountId, limit: 50 }, { pause: !may('issuers') })
  const noUsers = issuerId === '' || search.length < 2 || !may('users')
  const found = useAsk(users, { accountId, issuerId, search, limit: 8 }, { pause: noUsers })

  const go = (id: string, label: string, icon: IconName, href: string, more = ''): SpotlightActionData => ({
    id,
    label,
    ...(more && { description: more }),
    leftSection: <Icon name={icon} size={18} />,
    onClick: () => navigate(href),
  })
  const base = hrefOf(place)
  const here = issuerId === '' ? 'account' : 'issuer'
  const groups: SpotlightActionGroupData[] = [
    {
      group: 'Here',
      actions: resources
        .filter((resource) => resource.in === here && may(resource.needs))
        .map(({ path, label, icon }) => go(`here ${path}`, label, icon, path === '' ? base : `${base}/${path}`)),
    },
    {
      group: 'Users',
      actions: (noUsers ? [] : (found.data?.users.data ?? [])).map((user) => ({
        ...go(user.id, userName(user), 'user', `${base}/users/${user.id}`, user.id),
        // The server has found them, by what is not shown here.
        keywords: search,
      })),
    },
    {
      group: 'Issuers',
      actions: (inIssuers.data?.issuers.data ?? []).map(({ id, name }) =>
        go(id, name, 'gate', issuerHref(accountId, id), id),
      ),
    },
    {
      group: 'Accounts',
      actions: (inAccounts.data?.accounts.data ?? []).map(({ id, name }) =>
        go(id, name ?? id, 'building', accountHref(id), id),
      ),
    },
  ]
  return (
    <Spotlight
      store={store}
      actions={groups.filter((group) => group.actions.length > 0)}
      query={query}
      onQueryChange={setQuery}
      onSpotlightClose={onClose}
      shortcut={null}
      limit={12}
      highlightQuery
      nothingFound="Nothing is called that here"
      classNames={{ actionDescription: classes.description }}
      scrollable
      maxHeight={420}
      searchProps={{
        leftSection: <Icon name="search" size={18} />,
        placeholder: 'Find a page, an issuer, a user …',
        'aria-label': 'Find anything',
      }}
    />
  )
}
