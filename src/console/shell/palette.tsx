/** Ctrl+K: every page by its name, and what the server finds: accounts, issuers, and what the open issuer holds. */
import '@mantine/spotlight/styles.css'
import { useDebouncedValue } from '@mantine/hooks'
import { createSpotlight, Spotlight, type SpotlightActionData, type SpotlightActionGroupData } from '@mantine/spotlight'
import { accounts } from 'documents/accounts'
import { agents } from 'documents/agents'
import { clients } from 'documents/clients'
import { issuers } from 'documents/issuers'
import { organizations } from 'documents/organizations'
import { users } from 'documents/users'
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { useAsk } from '../graphql/hooks'
import { resources } from '../navigation'
import { userName } from '../pages/users/names'
import { Icon, type IconName } from '../parts/icon'
import { accountHref, hrefOf, issuerHref, usePlace } from '../place'
import classes from './shell.module.css'

/** Of each kind. */
const FEW = 5

const [store, actions] = createSpotlight()

export default function Palette({ onClose }: { onClose: () => void }) {
  const place = usePlace()
  const { accountId, issuerId, may } = place
  const [, navigate] = useLocation()
  const [query, setQuery] = useState('')
  const [search] = useDebouncedValue(query.trim(), 200)
  useEffect(() => actions.open(), [])

  const sought = { search: search || null, limit: FEW }
  const inAccounts = useAsk(accounts, sought)
  const inIssuers = useAsk(issuers, { accountId, ...sought }, { pause: !may('issuers') })
  // What an issuer holds comes up when it is looked for.
  const inIssuer = { accountId, issuerId, ...sought }
  const none = (field: string) => ({ pause: issuerId === '' || search.length < 2 || !may(field) })
  const found = {
    users: useAsk(users, inIssuer, none('users')),
    clients: useAsk(clients, inIssuer, none('clients')),
    organizations: useAsk(organizations, inIssuer, none('organizations')),
    agents: useAsk(agents, inIssuer, none('agents')),
  }

  const go = (id: string, label: string, icon: IconName, href: string, isFound = true): SpotlightActionData => ({
    id,
    label,
    // The server has found it, maybe by what is not shown here.
    ...(isFound && { description: id, keywords: search }),
    leftSection: <Icon name={icon} size={18} />,
    onClick: () => navigate(href),
  })
  const shown = <Row,>(rows: readonly Row[] | undefined): readonly Row[] => (search.length < 2 ? [] : (rows ?? []))
  const base = hrefOf(place)
  const here = issuerId === '' ? 'account' : 'issuer'
  const groups: SpotlightActionGroupData[] = [
    {
      group: 'Here',
      actions: resources
        .filter((resource) => resource.in === here && may(resource.needs))
        .map(({ path, label, icon }) => go(`here ${path}`, label, icon, path === '' ? base : `${base}/${path}`, false)),
    },
    {
      group: 'Users',
      actions: shown(found.users.data?.users.data).map((user) =>
        go(user.id, userName(user), 'user', `${base}/users/${user.id}`),
      ),
    },
    {
      group: 'Clients',
      actions: shown(found.clients.data?.clients.data).map(({ id, name }) =>
        go(id, name, 'app', `${base}/clients/${id}`),
      ),
    },
    {
      group: 'Organizations',
      actions: shown(found.organizations.data?.organizations.data).map(({ id, name }) =>
        go(id, name ?? id, 'building', `${base}/organizations/${id}`),
      ),
    },
    {
      group: 'Agents',
      actions: shown(found.agents.data?.agents.data).map(({ id, name }) =>
        go(id, name, 'robot', `${base}/agents/${id}`),
      ),
    },
    {
      group: 'Issuers',
      actions: (inIssuers.data?.issuers.data ?? []).map(({ id, name }) =>
        go(id, name, 'gate', issuerHref(accountId, id)),
      ),
    },
    {
      group: 'Accounts',
      actions: (inAccounts.data?.accounts.data ?? []).map(({ id, name }) =>
        go(id, name ?? id, 'building', accountHref(id)),
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
      limit={24}
      highlightQuery
      nothingFound="Nothing is called that here"
      classNames={{ actionDescription: classes.description }}
      scrollable
      maxHeight={420}
      searchProps={{
        leftSection: <Icon name="search" size={18} />,
        placeholder: 'Find a page, a user, a client …',
        'aria-label': 'Find anything',
      }}
    />
  )
}
