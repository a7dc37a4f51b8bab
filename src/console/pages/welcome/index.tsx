/**
 * The second and third step of the first run: an issuer, and an application that people sign in to through it. What is
 * made stands in the address, so that a reload goes on where one was. The first step is the setup page.
 */
import { accounts } from 'documents/accounts'
import { firstIssuer } from 'documents/welcome'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { useAsk } from '../../graphql/hooks'
import { TextLink } from '../../parts/link'
import { type Secret, SecretDialog } from '../../parts/secret'
import { FaultState, PageLoading } from '../../parts/states'
import { accountHref, issuerHref, PlaceOf } from '../../place'
import { useVisit } from '../../shell/person'
import { ApplicationStep } from './application'
import { Foot, Frame } from './frame'
import { IssuerStep } from './issuer'

export default function Welcome() {
  const [params, setParams] = useSearchParams()
  const own = useVisit()?.consoleAccountId
  const [secrets, setSecrets] = useState<Secret[]>()
  const { data, fault, loading, again } = useAsk(accounts, { limit: 20 }, { typename: 'Account' })
  const accountId = params.get('account') ?? data?.accounts.data.find(({ id }) => id !== own)?.id
  const inAccount = useAsk(firstIssuer, { accountId: accountId ?? '' }, { pause: !accountId, typename: 'Issuer' })
  // While a first account is being filled, its form stays: it has more to do.
  if (loading || (inAccount.loading && !secrets)) return <PageLoading />
  if (fault) return <FaultState fault={fault} again={again} />
  if (inAccount.fault) return <FaultState fault={inAccount.fault} again={inAccount.again} />
  const account = inAccount.data?.account
  const issuerId = params.get('issuer') ?? account?.issuers.data[0]?.id
  const issuer = account?.issuers.data.find(({ id }) => id === issuerId)
  const to = (place: Record<string, string>) => setParams({ ...(accountId && { account: accountId }), ...place })

  return (
    <>
      {accountId && issuerId ? (
        <PlaceOf accountId={accountId} issuerId={issuerId}>
          <Frame
            step={2}
            title="Your first application"
            lead={`People sign in to it through ${issuer?.name ?? 'your issuer'}.`}
          >
            <ApplicationStep
              accountId={accountId}
              issuerId={issuerId}
              clientId={params.get('client') ?? undefined}
              onMade={(client) => to({ issuer: issuerId, client })}
            />
            <Foot>
              <TextLink href={issuerHref(accountId, issuerId)}>Open the console</TextLink>
            </Foot>
          </Frame>
        </PlaceOf>
      ) : (
        <Frame
          step={1}
          title="Your first issuer"
          lead="An issuer signs people in: with its own people, applications, rules and looks. People begin with a password; passkeys and other ways are a setting."
        >
          <IssuerStep
            accountId={accountId}
            onAccount={(account, key) => {
              setSecrets(key)
              setParams({ account })
            }}
            onMade={(account, issuer) => setParams({ account, issuer })}
          />
          <Foot>
            {(accountId ?? own) && <TextLink href={accountHref(accountId ?? own!)}>Skip, I know my way</TextLink>}
          </Foot>
        </Frame>
      )}
      {secrets && issuerId && (
        <SecretDialog
          title="Your account’s first API key"
          secrets={secrets}
          fileName="gatehouse-api-key.txt"
          text="Scripts use it with /v1 and GraphQL. It may do everything in this account; more keys, with less, can be made at any time."
          onClose={() => setSecrets(undefined)}
        />
      )}
    </>
  )
}
