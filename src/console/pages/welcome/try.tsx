/**
 * The page /console/try: starts a trial sign-in at an issuer. The page is also the redirect URI of the trial sign-in:
 * exchanges the code and shows the tokens.
 */
import { Alert } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useSearchParams } from 'wouter'
import { Card } from '../../components/card'
import { CodeBlock } from '../../components/code-block'
import { Icon } from '../../components/icon'
import { LinkButton, TextLink } from '../../components/link'
import { EmptyState, PageLoading } from '../../components/states'
import { issuerHref } from '../../console-context'
import {
  AuthorizationError,
  type AuthorizationRequest,
  consumeAuthorizationRequest,
  exchangeCode,
  type Token,
  type TokenResult,
} from './authorization-request'
import { describeClaim, formatClaimValue } from './claims'
import { WelcomeFooter, WelcomeLayout } from './layout'
import { TryCard } from './try-card'
import classes from './welcome.module.css'

type SignInResult =
  | { status: 'pending' }
  | { status: 'unknown' }
  | { status: 'failed'; message: string; request: AuthorizationRequest | undefined }
  | { status: 'done'; tokens: TokenResult; request: AuthorizationRequest }

async function completeAuthorization(response: URLSearchParams): Promise<SignInResult> {
  const request = consumeAuthorizationRequest(response.get('state'))
  if (!request) return { status: 'unknown' }
  const code = response.get('code')
  if (!code) {
    const message = response.get('error_description') ?? response.get('error') ?? 'The issuer sent no code.'
    return { status: 'failed', message, request }
  }
  try {
    return { status: 'done', tokens: await exchangeCode(request, code), request }
  } catch (error) {
    if (!(error instanceof AuthorizationError)) throw error
    return { status: 'failed', message: error.message, request }
  }
}

/** A code can be exchanged only once, so all renders of the page share one result. */
let resultPromise: Promise<SignInResult> | undefined

export default function TrySignIn() {
  const [params] = useSearchParams()
  const [isCallback] = useState(() => params.has('state'))
  const [result, setResult] = useState<SignInResult>({ status: 'pending' })
  useEffect(() => {
    if (!isCallback) return
    resultPromise ??= completeAuthorization(new URLSearchParams(location.search))
    // Removes the code from the URL and from the history.
    history.replaceState(null, '', '/console/try')
    void resultPromise.then(setResult)
  }, [isCallback])

  const accountId = params.get('account')
  const issuerId = params.get('issuer')
  if (accountId && issuerId) {
    return (
      <WelcomeLayout title="Try signing in" lead="See what your users see, and what your application gets.">
        <TryCard accountId={accountId} issuerId={issuerId} />
        <WelcomeFooter>
          <TextLink href={issuerHref(accountId, issuerId)}>Back to the issuer</TextLink>
        </WelcomeFooter>
      </WelcomeLayout>
    )
  }
  if (isCallback && result.status === 'pending') return <PageLoading />
  if (result.status === 'done') return <TokenPage {...result} />
  if (result.status === 'failed') {
    const { request, message } = result
    return (
      <WelcomeLayout title="The sign-in failed" lead="You can try again.">
        <Alert color="red" variant="light" icon={<Icon name="warning" />} role="alert" mb="md">
          {message}
        </Alert>
        {request && <TryCard accountId={request.accountId} issuerId={request.issuerId} />}
      </WelcomeLayout>
    )
  }
  return (
    <main>
      <EmptyState icon="key" title="No tokens to show" href="/" action="Open the console">
        Tokens are shown once and are not stored. Start again from the page of an issuer.
      </EmptyState>
    </main>
  )
}

function TokenPage({ tokens, request }: { tokens: TokenResult; request: AuthorizationRequest }) {
  const { accountId, issuerId } = request
  return (
    <WelcomeLayout
      title="Signed in"
      lead="An application gets these tokens for the code. This page has verified both with the issuer’s published keys."
    >
      <TokenCard
        title="ID token"
        text="Says who signed in, and how. It is for the application only and must not be used to call APIs."
        token={tokens.id}
        checks={['Signature', 'Issuer', 'Audience', 'Lifetime', 'Nonce']}
      />
      <TokenCard
        title="Access token"
        text={`Authorizes calls to an API for ${Math.round(tokens.expiresIn / 60)} minutes. The API validates it; the application only sends it.`}
        token={tokens.access}
        checks={['Signature', 'Type', 'Issuer', 'Audience', 'Lifetime']}
      />
      <Card
        title="UserInfo"
        text="Data about the user that the issuer returns for the access token, limited by its scopes."
      >
        <Claims label="UserInfo" claims={tokens.userinfo} />
      </Card>
      <WelcomeFooter>
        <TextLink href={`/try?account=${accountId}&issuer=${issuerId}`}>Try again</TextLink>
        <LinkButton href={issuerHref(accountId, issuerId)}>Open the issuer</LinkButton>
      </WelcomeFooter>
    </WelcomeLayout>
  )
}

interface TokenProps {
  title: string
  text: string
  token: Token
  checks: readonly string[]
}

function TokenCard({ title, text, token, checks }: TokenProps) {
  return (
    <Card title={title} text={text}>
      <ul className={classes.checks} aria-label={`Checks of the ${title}`}>
        {checks.map((check) => (
          <li key={check}>
            <Icon name="check" size={14} />
            <span>{check}</span>
          </li>
        ))}
      </ul>
      <Claims label={`Claims of the ${title}`} claims={token.claims} />
      <details className={classes.raw}>
        <summary>Raw token</summary>
        <CodeBlock title={`${title}: header`} code={JSON.stringify(token.header, null, 2)} />
        <CodeBlock title={title} code={token.raw} />
      </details>
    </Card>
  )
}

function Claims({ label, claims }: { label: string; claims: Record<string, unknown> }) {
  return (
    <table className={classes.claims} aria-label={label}>
      <thead>
        <tr>
          <th scope="col">Claim</th>
          <th scope="col">Value</th>
          <th scope="col">Description</th>
        </tr>
      </thead>
      <tbody>
        {Object.entries(claims).map(([claim, value]) => (
          <tr key={claim}>
            <th scope="row">
              <code>{claim}</code>
            </th>
            <td>
              <code>{formatClaimValue(claim, value)}</code>
            </td>
            <td>{describeClaim(claim)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
