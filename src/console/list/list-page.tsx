/**
 * A list of things: searched, filtered and paged by the server, so that it is as quick at a million rows as at ten. Search,
 * filters and page are in the address, so that they can be sent to somebody and come back with the back button.
 */
import { Button, Group } from '@mantine/core'
import type { TypedDocumentNode } from '@urql/core'
import { type ReactNode, useEffect } from 'react'
import { useAsk } from '../graphql/hooks'
import { Card } from '../parts/card'
import { Icon, type IconName } from '../parts/icon'
import { EmptyState, FaultState, RowsLoading } from '../parts/states'
import { FilterBar } from './filter-bar'
import { type Column, ListTable } from './list-table'
import { type ListAddress, useListAddress } from './use-list-address'

export interface Filter {
  /** The query's variable. */
  name: string
  label: string
  options: readonly { value: string; label: string }[]
  /** The variable is a Boolean; the values are `true` and `false`. */
  boolean?: boolean
}

interface ListPageOf<Row> {
  data: Row[]
  nextCursor?: string | null
  hasMore: boolean
}

export interface ListProps<Data, Variables extends object, Row extends { id: string }> {
  /** For people who do not see it: what the list holds. */
  label: string
  query: TypedDocumentNode<Data, Variables>
  /** Without cursor and limit. */
  variables: Omit<Variables, 'cursor' | 'limit'>
  page: (data: Data) => ListPageOf<Row>
  /** Of the rows, as GraphQL calls them: a list that is empty hears of the first one by it. */
  typename: string
  columns: readonly Column<Row>[]
  /** Where a row leads, below /console. */
  href?: (row: Row) => string
  /** The query's variable for a search, and what the field says. */
  search?: { name: string; placeholder: string }
  filters?: readonly Filter[]
  /** Asks again every two seconds while this says so of what is shown. */
  moving?: (rows: readonly Row[]) => boolean
  empty: { icon: IconName; title: string; text: ReactNode; action?: string; onAction?: () => void }
}

const PAGE = 25

/** The list itself, for a page of its own or a tab. */
export function List<Data, Variables extends object, Row extends { id: string }>(
  props: ListProps<Data, Variables, Row>,
) {
  const { label, query, variables, page, typename, columns, href, search, filters = [], moving, empty } = props
  const address = useListAddress([...(search ? [search.name] : []), ...filters.map(({ name }) => name)])
  const booleans = filters.flatMap(({ name, boolean }) =>
    boolean && address.given[name] ? [[name, address.given[name] === 'true']] : [],
  )
  const given = { ...address.given, ...Object.fromEntries(booleans) }
  const asked = { ...variables, ...given, limit: PAGE, cursor: address.cursor } as unknown as Variables
  const { data, fault, loading, again } = useAsk(query, asked, { typename })
  const found = data && page(data)
  const isMoving = found !== undefined && moving?.(found.data) === true
  useEffect(() => {
    if (!isMoving) return
    const timer = setInterval(again, 2000)
    return () => clearInterval(timer)
  }, [isMoving, again])
  const isFiltered = Object.keys(address.given).length > 0

  return (
    <Card flush>
      {(search || filters.length > 0) && <FilterBar search={search} filters={filters} address={address} />}
      {fault && !found ? (
        <FaultState fault={fault} again={again} />
      ) : loading || !found ? (
        <RowsLoading />
      ) : found.data.length > 0 ? (
        <ListTable label={label} rows={found.data} columns={columns} {...(href && { href })} />
      ) : isFiltered || address.cursor ? (
        <EmptyState icon="search" title="Nothing matches" action="Show everything" onAction={address.clear}>
          Try fewer letters or another filter.
        </EmptyState>
      ) : (
        <EmptyState
          icon={empty.icon}
          title={empty.title}
          {...(empty.action && empty.onAction && { action: empty.action, onAction: empty.onAction })}
        >
          {empty.text}
        </EmptyState>
      )}
      {found && <Paging address={address} next={found.hasMore ? found.nextCursor : null} />}
    </Card>
  )
}

function Paging({ address, next }: { address: ListAddress; next: string | null | undefined }) {
  if (!next && !address.cursor) return null
  return (
    <Group justify="flex-end" gap="xs" p="sm" component="nav" aria-label="Pages">
      <Button
        variant="default"
        size="xs"
        disabled={!address.cursor}
        onClick={address.back}
        leftSection={<Icon name="chevronLeft" size={14} />}
      >
        Previous
      </Button>
      <Button
        variant="default"
        size="xs"
        disabled={!next}
        onClick={() => next && address.goTo(next)}
        rightSection={<Icon name="chevronRight" size={14} />}
      >
        Next
      </Button>
    </Group>
  )
}
