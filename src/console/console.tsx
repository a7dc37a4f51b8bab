/** The console's addresses. Everything has one; what is open is never anywhere else than in the address. */
import { accounts } from 'documents/accounts'
import { Suspense, useEffect } from 'react'
import { Redirect, Route, Router, Switch, useParams } from 'wouter'
import { useAsk } from './graphql/hooks'
import { type Resource, resources } from './navigation'
import { Boundary } from './parts/boundary'
import { EmptyState, FaultState, PageLoading } from './parts/states'
import { accountHref, PlaceOf, usePlace } from './place'
import { lastAccount, rememberAccount } from './remember'
import { Shell } from './shell/shell'

export function Console() {
  return (
    <Router base="/console">
      <Switch>
        <Route path="/accounts/:accountId/issuers/:issuerId/*?">{() => <InPlace of="issuer" />}</Route>
        <Route path="/accounts/:accountId/*?">{() => <InPlace of="account" />}</Route>
        <Route path="/">{() => <Home />}</Route>
        <Route>{() => <NotFound />}</Route>
      </Switch>
    </Router>
  )
}

/** The account that was open last, or the first one that somebody can reach. */
function Home() {
  const { data, fault, loading, again } = useAsk(accounts, { limit: 1 })
  const last = lastAccount()
  const first = last ?? data?.accounts.data[0]?.id
  if (first) return <Redirect to={accountHref(first)} replace />
  if (loading) return <PageLoading />
  if (fault) return <FaultState fault={fault} again={again} />
  return (
    <EmptyState icon="home" title="No account yet">
      You are signed in, but no account is yours. Ask an operator to make you an administrator of one.
    </EmptyState>
  )
}

function InPlace({ of }: { of: Resource['in'] }) {
  const { accountId = '', issuerId = '' } = useParams<{ accountId: string; issuerId?: string }>()
  useEffect(() => rememberAccount(accountId), [accountId])
  const base = of === 'issuer' ? '/accounts/:accountId/issuers/:issuerId' : '/accounts/:accountId'
  return (
    <PlaceOf accountId={accountId} issuerId={of === 'issuer' ? issuerId : ''}>
      <Shell>
        <Boundary>
          <Suspense fallback={<PageLoading />}>
            <Switch>
              {resources
                .filter((resource) => resource.in === of)
                .map((resource) => (
                  <Route key={resource.path} path={resource.path === '' ? base : `${base}/${resource.path}/*?`}>
                    {() => <Allowed resource={resource} />}
                  </Route>
                ))}
              <Route>{() => <NotFound />}</Route>
            </Switch>
          </Suspense>
        </Boundary>
      </Shell>
    </PlaceOf>
  )
}

/** Offers nothing that the caller may not see; the server would refuse it anyway. */
function Allowed({ resource }: { resource: Resource }) {
  const { may, known } = usePlace()
  if (!known) return <PageLoading />
  if (!may(resource.needs)) return <NotAllowed />
  return <resource.page />
}

const NotAllowed = () => (
  <EmptyState icon="lock" title="There is nothing here for you">
    It does not exist, or it belongs to somebody else. Ask an administrator of the account if you should see it.
  </EmptyState>
)

const NotFound = () => (
  <EmptyState icon="search" title="There is no such page" href="/" action="To the console">
    The address may be mistyped, or what it named is gone.
  </EmptyState>
)
