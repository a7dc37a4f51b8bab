/**
 * The second and third step of the first run: create an issuer and an application. The IDs of the created resources are
 * in the URL, so that a reload continues at the same step. The first step is the setup page (src/setup/page.ts).
 */
import { accounts } from 'documents/accounts'
import { firstIssuer } from 'documents/welcome'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { TextLink } from '../../components/link'
import { type Secret, SecretDialog } from '../../components/secret'
import { ErrorState, PageLoading } from '../../components/states'
import { accountHref, ConsoleContextProvider, issuerHref } from '../../console-context'
import { useQuery } from '../../graphql/hooks'
import { useConsoleSession } from '../../shell/console-session'
import { ApplicationStep } from './application'
import { IssuerStep } from './issuer'
import { WelcomeFooter, WelcomeLayout } from './layout'

export default function Welcome() {
  const [params, setParams] = useSearchParams()
  const consoleAccountId = useConsoleSession()?.consoleAccountId
  const [secrets, setSecrets] = useState<Secret[]>()
  const { data, error, loading, refetch } = useQuery(accounts, { limit: 20 }, { typename: 'Account' })
  const accountId = params.get('account') ?? data?.accounts.data.find(({ id }) => id !== consoleAccountId)?.id
  const issuerQuery = useQuery(firstIssuer, { accountId: accountId ?? '' }, { pause: !accountId, typename: 'Issuer' })
  // The form that created the first account stays mounted, because it still has to create the issuer.
  if (loading || (issuerQuery.loading && !secrets)) return <PageLoading />
  if (error) return <ErrorState error={error} onRetry={refetch} />
  if (issuerQuery.error) return <ErrorState error={issuerQuery.error} onRetry={issuerQuery.refetch} />
  const account = issuerQuery.data?.account
  const issuerId = params.get('issuer') ?? account?.issuers?.data[0]?.id
  const issuer = account?.issuers?.data.find(({ id }) => id === issuerId)
  const goTo = (nextParams: Record<string, string>) =>
    setParams({ ...(accountId && { account: accountId }), ...nextParams })

  return (
    <>
      {accountId && issuerId ? (
        <ConsoleContextProvider accountId={accountId} issuerId={issuerId}>
          <WelcomeLayout
            step={2}
            title="Your first application"
            lead={`Users sign in to the application through ${issuer?.name ?? 'your issuer'}.`}
          >
            <ApplicationStep
              accountId={accountId}
              issuerId={issuerId}
              clientId={params.get('client') ?? undefined}
              onCreated={(client) => goTo({ issuer: issuerId, client })}
            />
            <WelcomeFooter>
              <TextLink href={issuerHref(accountId, issuerId)}>Open the console</TextLink>
            </WelcomeFooter>
          </WelcomeLayout>
        </ConsoleContextProvider>
      ) : (
        <WelcomeLayout
          step={1}
          title="Your first issuer"
          lead="An issuer is an identity provider with its own users, clients, settings and branding. Users sign in with a password; you can add passkeys and other methods later."
        >
          <IssuerStep
            accountId={accountId}
            onAccount={(account, key) => {
              setSecrets(key)
              setParams({ account })
            }}
            onCreated={(account, issuer) => setParams({ account, issuer })}
          />
          <WelcomeFooter>
            {(accountId ?? consoleAccountId) && (
              <TextLink href={accountHref(accountId ?? consoleAccountId!)}>Skip setup</TextLink>
            )}
          </WelcomeFooter>
        </WelcomeLayout>
      )}
      {secrets && issuerId && (
        <SecretDialog
          title="First API key"
          secrets={secrets}
          fileName="gatehouse-api-key.txt"
          text="Scripts use this key with /v1 and GraphQL. The key has full access to this account; you can create keys with fewer scopes at any time."
          onClose={() => setSecrets(undefined)}
        />
      )}
    </>
  )
}
