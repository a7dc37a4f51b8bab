/**
 * The command palette (Ctrl+K): finds pages by name, and accounts, issuers and resources of the open issuer by search.
 */
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
import { Icon, type IconName } from '../components/icon'
import { accountHref, baseHref, issuerHref, useConsoleContext } from '../console-context'
import { useQuery } from '../graphql/hooks'
import { consoleResources } from '../navigation'
import { userName } from '../pages/users/names'
import classes from './shell.module.css'

/** Maximum number of results of each type. */
const RESULTS_PER_GROUP = 5

const [store, actions] = createSpotlight()

export default function CommandPalette({ onClose }: { onClose: () => void }) {
  const context = useConsoleContext()
  const { accountId, issuerId, may } = context
  const [, navigate] = useLocation()
  const [query, setQuery] = useState('')
  const [search] = useDebouncedValue(query.trim(), 200)
  useEffect(() => actions.open(), [])

  const searchVariables = { search: search || null, limit: RESULTS_PER_GROUP }
  const accountsQuery = useQuery(accounts, searchVariables)
  const issuersQuery = useQuery(issuers, { accountId, ...searchVariables }, { pause: !may('issuers') })
  // Resources of the issuer are searched only for a text of at least two characters.
  const issuerSearchVariables = { accountId, issuerId, ...searchVariables }
  const pauseOptions = (field: string) => ({ pause: issuerId === '' || search.length < 2 || !may(field) })
  const found = {
    users: useQuery(users, issuerSearchVariables, pauseOptions('users')),
    clients: useQuery(clients, issuerSearchVariables, pauseOptions('clients')),
    organizations: useQuery(organizations, issuerSearchVariables, pauseOptions('organizations')),
    agents: useQuery(agents, issuerSearchVariables, pauseOptions('agents')),
  }

  const toAction = (id: string, label: string, icon: IconName, href: string, isFound = true): SpotlightActionData => ({
    id,
    label,
    // Spotlight filters the actions again. The search text as a keyword keeps results that the server matched by a
    // value that is not shown.
    ...(isFound && { description: id, keywords: search }),
    leftSection: <Icon name={icon} size={18} />,
    onClick: () => navigate(href),
  })
  const whenSearching = <Row,>(rows: readonly Row[] | undefined): readonly Row[] =>
    search.length < 2 ? [] : (rows ?? [])
  const base = baseHref(context)
  const level = issuerId === '' ? 'account' : 'issuer'
  const groups: SpotlightActionGroupData[] = [
    {
      group: 'Pages',
      actions: consoleResources
        .filter((resource) => resource.level === level && may(resource.requiredQuery))
        .map(({ path, label, icon }) =>
          toAction(`here ${path}`, label, icon, path === '' ? base : `${base}/${path}`, false),
        ),
    },
    {
      group: 'Users',
      actions: whenSearching(found.users.data?.users.data).map((user) =>
        toAction(user.id, userName(user), 'user', `${base}/users/${user.id}`),
      ),
    },
    {
      group: 'Clients',
      actions: whenSearching(found.clients.data?.clients.data).map(({ id, name }) =>
        toAction(id, name, 'app', `${base}/clients/${id}`),
      ),
    },
    {
      group: 'Organizations',
      actions: whenSearching(found.organizations.data?.organizations.data).map(({ id, name }) =>
        toAction(id, name ?? id, 'building', `${base}/organizations/${id}`),
      ),
    },
    {
      group: 'Agents',
      actions: whenSearching(found.agents.data?.agents.data).map(({ id, name }) =>
        toAction(id, name, 'robot', `${base}/agents/${id}`),
      ),
    },
    {
      group: 'Issuers',
      actions: (issuersQuery.data?.issuers.data ?? []).map(({ id, name }) =>
        toAction(id, name, 'gate', issuerHref(accountId, id)),
      ),
    },
    {
      group: 'Accounts',
      actions: (accountsQuery.data?.accounts.data ?? []).map(({ id, name }) =>
        toAction(id, name ?? id, 'building', accountHref(id)),
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
      nothingFound="No results"
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
