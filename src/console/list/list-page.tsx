/**
 * A list that the server searches, filters and pages. Search, filters and cursor are in the URL, so that they can be
 * shared and the back button returns to the previous page of the list.
 */
import { Button, Group } from '@mantine/core'
import type { TypedDocumentNode } from '@urql/core'
import { type ReactNode, useEffect } from 'react'
import { Card } from '../components/card'
import { Icon, type IconName } from '../components/icon'
import { EmptyState, ErrorState, RowsLoading } from '../components/states'
import { useQuery } from '../graphql/hooks'
import { type Filter, FilterBar } from './filter-bar'
import { type Column, ListTable } from './list-table'
import { type ListParams, useListParams } from './use-list-params'

interface CursorPage<Row> {
  data: Row[]
  nextCursor?: string | null
  hasMore: boolean
}

export interface ListProps<Data, Variables extends object, Row extends { id: string }> {
  /** Accessible name of the table. */
  label: string
  query: TypedDocumentNode<Data, Variables>
  /** The variables of the query, without cursor and limit. */
  variables: Omit<Variables, 'cursor' | 'limit'>
  page: (data: Data) => CursorPage<Row>
  /** GraphQL type on which the list depends, so that an empty list is refetched when the first row is created. */
  typename: string
  columns: readonly Column<Row>[]
  /** Path of a row's page, below /console. */
  href?: (row: Row) => string
  /** The name of the query variable, and the placeholder of the field. */
  search?: { name: string; placeholder: string }
  filters?: readonly Filter[]
  /** While this function returns true for the shown rows, the list is refetched every two seconds. */
  pollWhile?: (rows: readonly Row[]) => boolean
  empty: { icon: IconName; title: string; text: ReactNode; action?: string; onAction?: () => void }
}

const PAGE_SIZE = 25

/** A list, for a page or a tab. */
export function List<Data, Variables extends object, Row extends { id: string }>(
  props: ListProps<Data, Variables, Row>,
) {
  const { label, query, variables, page, typename, columns, href, search, filters = [], pollWhile, empty } = props
  const listParams = useListParams([...(search ? [search.name] : []), ...filters.map(({ name }) => name)])
  const booleans = filters.flatMap(({ name, boolean }) =>
    boolean && listParams.filters[name] ? [[name, listParams.filters[name] === 'true']] : [],
  )
  const filterVariables = { ...listParams.filters, ...Object.fromEntries(booleans) }
  const queryVariables = {
    ...variables,
    ...filterVariables,
    limit: PAGE_SIZE,
    cursor: listParams.cursor,
  } as unknown as Variables
  const { data, error, loading, refetch } = useQuery(query, queryVariables, { typename })
  const currentPage = data && page(data)
  const isPolling = currentPage !== undefined && pollWhile?.(currentPage.data) === true
  useEffect(() => {
    if (!isPolling) return
    const timer = setInterval(refetch, 2000)
    return () => clearInterval(timer)
  }, [isPolling, refetch])
  const isFiltered = Object.keys(listParams.filters).length > 0

  return (
    <Card flush>
      {(search || filters.length > 0) && <FilterBar search={search} filters={filters} listParams={listParams} />}
      {error && !currentPage ? (
        <ErrorState error={error} onRetry={refetch} />
      ) : loading || !currentPage ? (
        <RowsLoading />
      ) : currentPage.data.length > 0 ? (
        <ListTable label={label} rows={currentPage.data} columns={columns} {...(href && { href })} />
      ) : isFiltered || listParams.cursor ? (
        <EmptyState icon="search" title="No results" action="Clear search and filters" onAction={listParams.clear}>
          Try a shorter search or another filter.
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
      {currentPage && (
        <Pagination listParams={listParams} nextCursor={currentPage.hasMore ? currentPage.nextCursor : null} />
      )}
    </Card>
  )
}

function Pagination({ listParams, nextCursor }: { listParams: ListParams; nextCursor: string | null | undefined }) {
  if (!nextCursor && !listParams.cursor) return null
  return (
    <Group justify="flex-end" gap="xs" p="sm" component="nav" aria-label="Pages">
      <Button
        variant="default"
        size="xs"
        disabled={!listParams.cursor}
        onClick={listParams.previousPage}
        leftSection={<Icon name="chevronLeft" size={14} />}
      >
        Previous
      </Button>
      <Button
        variant="default"
        size="xs"
        disabled={!nextCursor}
        onClick={() => nextCursor && listParams.goToCursor(nextCursor)}
        rightSection={<Icon name="chevronRight" size={14} />}
      >
        Next
      </Button>
    </Group>
  )
}
