/**
 * The approval queue: pending sign-ups on the left, the selected sign-up on the right, with keyboard shortcuts. The URL
 * contains the sign-up that the user selected, so that users can share links to it.
 */
import { Kbd, TextInput } from '@mantine/core'
import { useDebouncedCallback, useHotkeys, useMediaQuery } from '@mantine/hooks'
import { approvals } from 'documents/approvals'
import { useEffect, useState } from 'react'
import { useSearchParams } from 'wouter'
import { Icon } from '../../components/icon'
import { Page } from '../../components/page'
import { EmptyState, ErrorState, PageLoading } from '../../components/states'
import { RelativeTime } from '../../components/values'
import { useConsoleContext } from '../../console-context'
import { useQuery } from '../../graphql/hooks'
import { userName } from '../users/names'
import { Applicant, type Decision } from './applicant'
import classes from './approvals.module.css'

export default function Approvals() {
  const { accountId, issuerId, may } = useConsoleContext()
  const [params, setParams] = useSearchParams()
  const [pendingDecision, setPendingDecision] = useState<Decision>()
  const isNarrow = useMediaQuery('(max-width: 62em)')
  const ids = { accountId, issuerId }
  const search = params.get('search')
  const { data, error, loading, refetch } = useQuery(approvals, { ...ids, limit: 50, search }, { typename: 'Approval' })
  const applicants = data?.approvals.data ?? []
  const requestedUserId = params.get('user')
  const requestedIndex = applicants.findIndex(({ id }) => id === requestedUserId)
  // On wide screens, the first sign-up is selected by default.
  const selected = requestedIndex >= 0 ? applicants[requestedIndex] : isNarrow ? undefined : applicants[0]

  const selectUser = (userId: string | undefined) => {
    setPendingDecision(undefined)
    setParams({ ...(search && { search }), ...(userId && { user: userId }) }, { replace: true })
  }
  const setSearchDebounced = useDebouncedCallback(
    (text: string) => setParams(text.trim() ? { search: text.trim() } : {}, { replace: true }),
    250,
  )
  const moveSelection = (offset: number) => {
    const from = applicants.findIndex(({ id }) => id === selected?.id)
    const next = applicants[from < 0 ? 0 : Math.min(Math.max(from + offset, 0), applicants.length - 1)]
    if (!next) return
    selectUser(next.id)
    document.querySelector<HTMLElement>(`#waiting-${next.id} button`)?.focus()
  }
  const startDecision = (decision: Decision) => selected && may('decideApproval') && setPendingDecision(decision)
  useHotkeys([
    ['j', () => moveSelection(1)],
    ['k', () => moveSelection(-1)],
    ['a', () => startDecision('approve')],
    ['d', () => startDecision('reject')],
  ])
  const selectedId = selected?.id
  useEffect(() => {
    if (selectedId) document.getElementById(`waiting-${selectedId}`)?.scrollIntoView({ block: 'nearest' })
  }, [selectedId])

  return (
    <Page title="Approvals" lead="Sign-ups that wait for approval, oldest first.">
      {loading ? (
        <PageLoading />
      ) : error && !data ? (
        <ErrorState error={error} onRetry={refetch} />
      ) : applicants.length === 0 && !search ? (
        <EmptyState icon="check" title="No pending sign-ups">
          If sign-ups require approval (Settings, Sign-up), new users appear here until you approve or deny them.
        </EmptyState>
      ) : (
        <div className={classes.desk} data-open={selected !== undefined || undefined}>
          <nav className={classes.queue} aria-label="Pending sign-ups">
            {(search || data?.approvals.hasMore || applicants.length > 8) && (
              <TextInput
                type="search"
                aria-label="Search by username, name or email"
                placeholder="Search by username, name or email"
                leftSection={<Icon name="search" />}
                className={classes.search}
                defaultValue={search ?? ''}
                onChange={(event) => setSearchDebounced(event.currentTarget.value)}
              />
            )}
            {applicants.length === 0 && <p className={classes.keys}>No results.</p>}
            <ul>
              {applicants.map((user) => (
                <li key={user.id} id={`waiting-${user.id}`}>
                  <button
                    type="button"
                    className={classes.waiting}
                    aria-current={user.id === selected?.id || undefined}
                    onClick={() => selectUser(user.id)}
                    onKeyDown={(event) => {
                      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
                      if (by === undefined) return
                      event.preventDefault()
                      moveSelection(by)
                    }}
                  >
                    <span className={classes.name}>{userName(user)}</span>
                    <RelativeTime at={user.createdAt} />
                    {user.signupReason && <span className={classes.reason}>{user.signupReason}</span>}
                  </button>
                </li>
              ))}
            </ul>
            <p className={classes.keys}>
              {data?.approvals.hasMore && 'Later sign-ups appear after you decide about these. '}
              <Kbd size="xs">J</Kbd> <Kbd size="xs">K</Kbd> next and previous, <Kbd size="xs">A</Kbd> approve,{' '}
              <Kbd size="xs">D</Kbd> deny
            </p>
          </nav>
          {selected && (
            <Applicant
              key={selected.id}
              userId={selected.id}
              pendingDecision={pendingDecision}
              setPendingDecision={setPendingDecision}
              onBack={() => selectUser(undefined)}
              onDone={() => {
                const from = applicants.findIndex(({ id }) => id === selected.id)
                selectUser((applicants[from + 1] ?? applicants[from - 1])?.id)
              }}
            />
          )}
        </div>
      )}
    </Page>
  )
}
