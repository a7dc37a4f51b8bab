/** Where a tried sign-in comes back to: redeems the code, shows what an application gets. */
import { Alert } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useSearchParams } from 'wouter'
import { Card } from '../../parts/card'
import { CodeBlock } from '../../parts/code-block'
import { Icon } from '../../parts/icon'
import { LinkButton, TextLink } from '../../parts/link'
import { EmptyState, PageLoading } from '../../parts/states'
import { issuerHref } from '../../place'
import { type Departure, Failure, redeem, type Token, type Tokens, takeDeparture } from './attempt'
import { meaningOf, shownValue } from './claims'
import { Foot, Frame } from './frame'
import { TryCard } from './try-card'
import classes from './welcome.module.css'

type Outcome =
  | { is: 'pending' }
  | { is: 'stranger' }
  | { is: 'failed'; why: string; departure: Departure | undefined }
  | { is: 'done'; tokens: Tokens; departure: Departure }

async function outcomeOf(answer: URLSearchParams): Promise<Outcome> {
  const departure = takeDeparture(answer.get('state'))
  if (!departure) return { is: 'stranger' }
  const code = answer.get('code')
  if (!code) {
    const why = answer.get('error_description') ?? answer.get('error') ?? 'The issuer sent no code.'
    return { is: 'failed', why, departure }
  }
  try {
    return { is: 'done', tokens: await redeem(departure, code), departure }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { is: 'failed', why: error.message, departure }
  }
}

/** An answer is good once, and belongs to the page that it came to. */
let asked: Promise<Outcome> | undefined

export default function TrySignIn() {
  const [params] = useSearchParams()
  const [isAnswer] = useState(() => params.has('state'))
  const [outcome, setOutcome] = useState<Outcome>({ is: 'pending' })
  useEffect(() => {
    if (!isAnswer) return
    asked ??= outcomeOf(new URLSearchParams(location.search))
    // The code is used, and the address can be shown to anybody.
    history.replaceState(null, '', '/console/try')
    void asked.then(setOutcome)
  }, [isAnswer])

  const accountId = params.get('account')
  const issuerId = params.get('issuer')
  if (accountId && issuerId) {
    return (
      <Frame title="Try signing in" lead="See what your people see, and what your application gets.">
        <TryCard accountId={accountId} issuerId={issuerId} />
        <Foot>
          <TextLink href={issuerHref(accountId, issuerId)}>Back to the issuer</TextLink>
        </Foot>
      </Frame>
    )
  }
  if (isAnswer && outcome.is === 'pending') return <PageLoading />
  if (outcome.is === 'done') return <Result {...outcome} />
  if (outcome.is === 'failed') {
    const { departure, why } = outcome
    return (
      <Frame title="That sign-in did not end well" lead="Nothing is broken by it; try again.">
        <Alert color="red" variant="light" icon={<Icon name="warning" />} role="alert" mb="md">
          {why}
        </Alert>
        {departure && <TryCard accountId={departure.accountId} issuerId={departure.issuerId} />}
      </Frame>
    )
  }
  return (
    <main>
      <EmptyState icon="key" title="There is no sign-in to show" href="/" action="To the console">
        Tokens are shown once, and kept nowhere. Begin again from an issuer’s page.
      </EmptyState>
    </main>
  )
}

function Result({ tokens, departure }: { tokens: Tokens; departure: Departure }) {
  const { accountId, issuerId } = departure
  return (
    <Frame
      title="Signed in"
      lead="This is what an application gets for the code. Both tokens were verified in this page with the issuer’s published keys."
    >
      <TokenCard
        title="ID token"
        text="Says who signed in and how. It is for the application alone, and never a key to an API."
        token={tokens.id}
        checks={['Signature', 'Issuer', 'Audience', 'Lifetime', 'Nonce']}
      />
      <TokenCard
        title="Access token"
        text={`The key to an API, for ${Math.round(tokens.expiresIn / 60)} minutes. The API checks it; the application only carries it.`}
        token={tokens.access}
        checks={['Signature', 'Type', 'Issuer', 'Audience', 'Lifetime']}
      />
      <Card
        title="Userinfo"
        text="What the issuer says of the person to whoever holds the access token, as far as its scopes go."
      >
        <Claims label="Userinfo" claims={tokens.person} />
      </Card>
      <Foot>
        <TextLink href={`/try?account=${accountId}&issuer=${issuerId}`}>Try again</TextLink>
        <LinkButton href={issuerHref(accountId, issuerId)}>Open the issuer</LinkButton>
      </Foot>
    </Frame>
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
      <ul className={classes.checks} aria-label={`What was checked of the ${title}`}>
        {checks.map((check) => (
          <li key={check}>
            <Icon name="check" size={14} />
            <span>{check}</span>
          </li>
        ))}
      </ul>
      <Claims label={`Claims of the ${title}`} claims={token.claims} />
      <details className={classes.raw}>
        <summary>As it was sent</summary>
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
          <th scope="col">What it says</th>
        </tr>
      </thead>
      <tbody>
        {Object.entries(claims).map(([claim, value]) => (
          <tr key={claim}>
            <th scope="row">
              <code>{claim}</code>
            </th>
            <td>
              <code>{shownValue(claim, value)}</code>
            </td>
            <td>{meaningOf(claim)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
