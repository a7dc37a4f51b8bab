/** The routes of the console. The URL identifies the open page and its resource. */
import { accounts } from 'documents/accounts'
import { lazy, type ReactNode, Suspense, useEffect } from 'react'
import { Redirect, Route, Router, Switch, useParams } from 'wouter'
import { ErrorBoundary } from './components/error-boundary'
import { EmptyState, ErrorState, PageLoading } from './components/states'
import { accountHref, ConsoleContextProvider, useConsoleContext } from './console-context'
import { useQuery } from './graphql/hooks'
import { getLastAccountId, saveLastAccountId } from './last-account'
import { type ConsoleResource, consoleResources } from './navigation'
import { useConsoleSession } from './shell/console-session'
import { Shell } from './shell/shell'
import { useStepUpRequest } from './step-up/request'

const Welcome = lazy(() => import('./pages/welcome'))
const TrySignIn = lazy(() => import('./pages/welcome/try'))
const StepUp = lazy(() => import('./step-up/dialog'))
const SignedIn = lazy(() => import('./step-up/signed-in'))

export function Console() {
  return (
    <Router base="/console">
      <Switch>
        <Route path="/accounts/:accountId/issuers/:issuerId/*?">{() => <ResourceRoutes of="issuer" />}</Route>
        <Route path="/accounts/:accountId/*?">{() => <ResourceRoutes of="account" />}</Route>
        <Route path="/">
          {() => (
            <StandalonePage>
              <HomeRedirect />
            </StandalonePage>
          )}
        </Route>
        <Route path="/welcome">
          {() => (
            <StandalonePage>
              <Welcome />
            </StandalonePage>
          )}
        </Route>
        <Route path="/try">
          {() => (
            <StandalonePage>
              <TrySignIn />
            </StandalonePage>
          )}
        </Route>
        <Route path="/signed-in">
          {() => (
            <StandalonePage>
              <SignedIn />
            </StandalonePage>
          )}
        </Route>
        <Route>{() => <NotFound />}</Route>
      </Switch>
      <StepUpPrompt />
    </Router>
  )
}

/** Opens the step-up dialog above the current page, so that unsaved input is kept. */
function StepUpPrompt() {
  const request = useStepUpRequest()
  return request ? (
    <Suspense>
      <StepUp request={request} />
    </Suspense>
  ) : null
}

/** A page that belongs to no account. */
const StandalonePage = ({ children }: { children: ReactNode }) => (
  <ErrorBoundary>
    <Suspense fallback={<PageLoading />}>{children}</Suspense>
  </ErrorBoundary>
)

/**
 * Redirects to the account that was open last, otherwise to the first account other than the system account. If there
 * is only the system account, redirects to the first run (/welcome).
 */
function HomeRedirect() {
  const { data, error, loading, refetch } = useQuery(accounts, { limit: 2 })
  const consoleAccountId = useConsoleSession()?.consoleAccountId
  const lastAccountId = getLastAccountId()
  const all = data?.accounts.data
  const targetAccountId = lastAccountId ?? all?.find(({ id }) => id !== consoleAccountId)?.id ?? all?.[0]?.id
  if (targetAccountId && targetAccountId === consoleAccountId && lastAccountId === undefined)
    return <Redirect to="/welcome" replace />
  if (targetAccountId) return <Redirect to={accountHref(targetAccountId)} replace />
  if (loading) return <PageLoading />
  if (error) return <ErrorState error={error} onRetry={refetch} />
  return (
    <EmptyState icon="home" title="No accounts yet">
      You are signed in, but you are not an administrator of any account. Ask an operator or the owner of an account to
      add you.
    </EmptyState>
  )
}

function ResourceRoutes({ of: level }: { of: ConsoleResource['level'] }) {
  const { accountId = '', issuerId = '' } = useParams<{ accountId: string; issuerId?: string }>()
  useEffect(() => saveLastAccountId(accountId), [accountId])
  const base = level === 'issuer' ? '/accounts/:accountId/issuers/:issuerId' : '/accounts/:accountId'
  return (
    <ConsoleContextProvider accountId={accountId} issuerId={level === 'issuer' ? issuerId : ''}>
      <Shell>
        <ErrorBoundary>
          <Suspense fallback={<PageLoading />}>
            <Switch>
              {consoleResources
                .filter((resource) => resource.level === level)
                .map((resource) => (
                  <Route key={resource.path} path={resource.path === '' ? base : `${base}/${resource.path}/*?`}>
                    {() => <ResourcePage resource={resource} />}
                  </Route>
                ))}
              <Route>{() => <NotFound />}</Route>
            </Switch>
          </Suspense>
        </ErrorBoundary>
      </Shell>
    </ConsoleContextProvider>
  )
}

/**
 * Shows a page if the caller may run `requiredQuery`. The server enforces permissions; this check only avoids requests
 * that would fail.
 */
function ResourcePage({ resource }: { resource: ConsoleResource }) {
  const { may, isLoaded, error, refetch } = useConsoleContext()
  if (!isLoaded) return <PageLoading />
  if (error) return <ErrorState error={error} onRetry={refetch} />
  if (!may(resource.requiredQuery)) return <NotAllowed />
  return <resource.page />
}

const NotAllowed = () => (
  <EmptyState icon="lock" title="You do not have access">
    This page does not exist, or you do not have permission to see it. Ask the owner of the account for access.
  </EmptyState>
)

const NotFound = () => (
  <EmptyState icon="search" title="Page not found" href="/" action="Open the console">
    Check the address.
  </EmptyState>
)
