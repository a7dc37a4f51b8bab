/** The console's addresses. Everything has one; what is open is never anywhere else than in the address. */
import { accounts } from 'documents/accounts'
import { lazy, type ReactNode, Suspense, useEffect } from 'react'
import { Redirect, Route, Router, Switch, useParams } from 'wouter'
import { useAsk } from './graphql/hooks'
import { type Resource, resources } from './navigation'
import { Boundary } from './parts/boundary'
import { EmptyState, FaultState, PageLoading } from './parts/states'
import { accountHref, PlaceOf, usePlace } from './place'
import { lastAccount, rememberAccount } from './remember'
import { useVisit } from './shell/person'
import { Shell } from './shell/shell'
import { useWish } from './step-up/wish'

const Welcome = lazy(() => import('./pages/welcome'))
const TrySignIn = lazy(() => import('./pages/welcome/try'))
const StepUp = lazy(() => import('./step-up/dialog'))
const SignedIn = lazy(() => import('./step-up/signed-in'))

export function Console() {
  return (
    <Router base="/console">
      <Switch>
        <Route path="/accounts/:accountId/issuers/:issuerId/*?">{() => <InPlace of="issuer" />}</Route>
        <Route path="/accounts/:accountId/*?">{() => <InPlace of="account" />}</Route>
        <Route path="/">
          {() => (
            <Alone>
              <Home />
            </Alone>
          )}
        </Route>
        <Route path="/welcome">
          {() => (
            <Alone>
              <Welcome />
            </Alone>
          )}
        </Route>
        <Route path="/try">
          {() => (
            <Alone>
              <TrySignIn />
            </Alone>
          )}
        </Route>
        <Route path="/signed-in">
          {() => (
            <Alone>
              <SignedIn />
            </Alone>
          )}
        </Route>
        <Route>{() => <NotFound />}</Route>
      </Switch>
      <AskedToSignIn />
    </Router>
  )
}

/** Over whatever is open, so that nothing of it is lost. */
function AskedToSignIn() {
  const wish = useWish()
  return wish ? (
    <Suspense>
      <StepUp wish={wish} />
    </Suspense>
  ) : null
}

/** Pages outside of any account. */
const Alone = ({ children }: { children: ReactNode }) => (
  <Boundary>
    <Suspense fallback={<PageLoading />}>{children}</Suspense>
  </Boundary>
)

/** The account that was open last, or the first one that somebody can reach; where there is none yet, the first run. */
function Home() {
  const { data, fault, loading, again } = useAsk(accounts, { limit: 2 })
  const own = useVisit()?.consoleAccountId
  const last = lastAccount()
  const all = data?.accounts.data
  const first = last ?? all?.find(({ id }) => id !== own)?.id ?? all?.[0]?.id
  if (first && first === own && last === undefined) return <Redirect to="/welcome" replace />
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
