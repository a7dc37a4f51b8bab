/**
 * The approval desk: who waits on the left, one of them on the right, and a decision in two keys. What is open is in the
 * address, so that a colleague can be asked.
 */
import { Kbd, TextInput } from '@mantine/core'
import { useDebouncedCallback, useHotkeys, useMediaQuery } from '@mantine/hooks'
import { approvals } from 'documents/approvals'
import { useEffect, useState } from 'react'
import { useSearchParams } from 'wouter'
import { useAsk } from '../../graphql/hooks'
import { Icon } from '../../parts/icon'
import { Page } from '../../parts/page'
import { EmptyState, FaultState, PageLoading } from '../../parts/states'
import { Moment } from '../../parts/values'
import { usePlace } from '../../place'
import { userName } from '../users/names'
import { Applicant } from './applicant'
import classes from './approvals.module.css'

export type Decision = 'approve' | 'reject'

export default function Approvals() {
  const { accountId, issuerId, may } = usePlace()
  const [params, setParams] = useSearchParams()
  const [deciding, setDeciding] = useState<Decision>()
  const isNarrow = useMediaQuery('(max-width: 62em)')
  const ids = { accountId, issuerId }
  const search = params.get('search')
  const { data, fault, loading, again } = useAsk(approvals, { ...ids, limit: 50, search }, { typename: 'Approval' })
  const waiting = data?.approvals.data ?? []
  const named = params.get('user')
  const at = waiting.findIndex(({ id }) => id === named)
  // With room for both, the first is open without being asked for.
  const open = at >= 0 ? waiting[at] : isNarrow ? undefined : waiting[0]

  const go = (userId: string | undefined) => {
    setDeciding(undefined)
    setParams({ ...(search && { search }), ...(userId && { user: userId }) }, { replace: true })
  }
  const seek = useDebouncedCallback(
    (text: string) => setParams(text.trim() ? { search: text.trim() } : {}, { replace: true }),
    250,
  )
  const step = (by: number) => {
    const from = waiting.findIndex(({ id }) => id === open?.id)
    const next = waiting[from < 0 ? 0 : Math.min(Math.max(from + by, 0), waiting.length - 1)]
    if (!next) return
    go(next.id)
    document.querySelector<HTMLElement>(`#waiting-${next.id} button`)?.focus()
  }
  const decide = (decision: Decision) => open && may('decideApproval') && setDeciding(decision)
  useHotkeys([
    ['j', () => step(1)],
    ['k', () => step(-1)],
    ['a', () => decide('approve')],
    ['d', () => decide('reject')],
  ])
  const openId = open?.id
  useEffect(() => {
    if (openId) document.getElementById(`waiting-${openId}`)?.scrollIntoView({ block: 'nearest' })
  }, [openId])

  return (
    <Page
      title="Approvals"
      lead="People who have signed up and wait for somebody to let them in, the longest wait first."
    >
      {loading ? (
        <PageLoading />
      ) : fault && !data ? (
        <FaultState fault={fault} again={again} />
      ) : waiting.length === 0 && !search ? (
        <EmptyState icon="check" title="Nobody is waiting">
          Where sign-ups need approval (Settings, Sign-up), people appear here until you let them in or turn them down.
        </EmptyState>
      ) : (
        <div className={classes.desk} data-open={open !== undefined || undefined}>
          <nav className={classes.queue} aria-label="Waiting">
            {(search || data?.approvals.hasMore || waiting.length > 8) && (
              <TextInput
                type="search"
                aria-label="Search by username, name or email"
                placeholder="Search by username, name or email"
                leftSection={<Icon name="search" />}
                className={classes.search}
                defaultValue={search ?? ''}
                onChange={(event) => seek(event.currentTarget.value)}
              />
            )}
            {waiting.length === 0 && <p className={classes.keys}>Nobody who waits is called that.</p>}
            <ul>
              {waiting.map((user) => (
                <li key={user.id} id={`waiting-${user.id}`}>
                  <button
                    type="button"
                    className={classes.waiting}
                    aria-current={user.id === open?.id || undefined}
                    onClick={() => go(user.id)}
                    onKeyDown={(event) => {
                      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
                      if (by === undefined) return
                      event.preventDefault()
                      step(by)
                    }}
                  >
                    <span className={classes.name}>{userName(user)}</span>
                    <Moment at={user.createdAt} />
                    {user.signupReason && <span className={classes.reason}>{user.signupReason}</span>}
                  </button>
                </li>
              ))}
            </ul>
            <p className={classes.keys}>
              {data?.approvals.hasMore && 'Those who came later follow as you decide. '}
              <Kbd size="xs">J</Kbd> <Kbd size="xs">K</Kbd> up and down, <Kbd size="xs">A</Kbd> approve,{' '}
              <Kbd size="xs">D</Kbd> deny
            </p>
          </nav>
          {open && (
            <Applicant
              key={open.id}
              userId={open.id}
              deciding={deciding}
              setDeciding={setDeciding}
              onBack={() => go(undefined)}
              onDone={() => {
                const from = waiting.findIndex(({ id }) => id === open.id)
                go((waiting[from + 1] ?? waiting[from - 1])?.id)
              }}
            />
          )}
        </div>
      )}
    </Page>
  )
}
