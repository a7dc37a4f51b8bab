import { type FormEvent, useEffect, useRef, useState } from 'react'
import { ask, hasConsoleSession } from './client.js'
import { type Proof, readCredential } from './credential.js'
import { learn } from './examples.js'
import { known } from './examples-panel.js'
import gate from './gate.svg'

interface Me {
  type: string
  id: string | null
  accountId: string | null
  issuerId: string | null
  scopes: string[]
}

type Who = { state: 'nobody' } | { state: 'asking' } | { state: 'refused'; why: string } | { state: 'known'; me: Me }

/**
 * The head of the page: takes a credential, asks the server whose it is, and hands it on once the server knows it. It
 * stays in this page's memory and ends with it. Until somebody pastes one, the console's session does, if there is one.
 */
export function CredentialBar({ onChange }: { onChange(proof: Proof | undefined): void }) {
  const [who, setWho] = useState<Who>({ state: 'nobody' })
  const [pasted, setPasted] = useState('')
  const [inConsole, setInConsole] = useState(false)
  const [bySession, setBySession] = useState(false)
  /** Somebody has begun to do something else than what the page would do by itself. */
  const chosen = useRef(false)

  async function prove(proof: Proof): Promise<boolean> {
    setWho({ state: 'asking' })
    const answer = await whoIs(proof)
    setWho(answer)
    if (answer.state !== 'known') return false
    for (const name of Object.keys(known)) delete known[name]
    Object.assign(known, learn(answer.me))
    setBySession(proof === 'console session')
    onChange(proof)
    return true
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the page opens
  useEffect(() => {
    void hasConsoleSession().then((there) => {
      setInConsole(there)
      if (there && !chosen.current) void prove('console session')
    })
  }, [])

  async function use(event: FormEvent): Promise<void> {
    event.preventDefault()
    chosen.current = true
    const credential = readCredential(pasted)
    if ('fault' in credential) return setWho({ state: 'refused', why: credential.fault })
    if (await prove(credential)) setPasted('')
  }

  function forget(): void {
    chosen.current = true
    setBySession(false)
    setWho({ state: 'nobody' })
    setPasted('')
    for (const name of Object.keys(known)) delete known[name]
    onChange(undefined)
  }

  return (
    <header className="bar">
      <h1>
        <img src={gate} alt="" width="28" height="28" />
        <span>
          Gatehouse <span className="soft">playground</span>
        </span>
      </h1>
      <form onSubmit={(event) => void use(event)}>
        <label htmlFor="credential">Credential</label>
        {/* Not of type password: browsers would offer to keep it. The style hides the characters. */}
        <input
          id="credential"
          type="text"
          className="secret"
          placeholder={who.state === 'known' ? 'Use another one' : 'ak_…:secret, or an access token'}
          value={pasted}
          onChange={(event) => setPasted(event.target.value)}
          autoComplete="off"
          autoCapitalize="none"
          autoCorrect="off"
          spellCheck={false}
          aria-describedby="who"
          aria-invalid={who.state === 'refused'}
        />
        <button type="submit" disabled={who.state === 'asking'}>
          Use
        </button>
        {who.state === 'known' && (
          <button type="button" className="quiet" onClick={forget}>
            Forget
          </button>
        )}
        {inConsole && !bySession && (
          <button type="button" className="quiet" onClick={() => void prove('console session')}>
            Use my console session
          </button>
        )}
      </form>
      <div className="below">
        <p id="who" role="status" data-state={who.state}>
          <Status who={who} />
        </p>
        <nav aria-label="Gatehouse">
          <a href="/console">Console</a>
          <a href="/docs">REST reference</a>
        </nav>
        <details onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.removeAttribute('open')}>
          <summary>How to get a credential</summary>
          <div className="hint">
            <p>
              <b>API key.</b> On the server, <code>gatehouse account create --name "Acme"</code> makes an account and
              prints its first key. <code>BOOTSTRAP_API_KEY</code> sets an operator's key before the first start.
              Whoever has a key makes more of them with the <code>createApiKey</code> mutation.
            </p>
            <p>
              <b>Access token.</b> Any token whose audience is this address: from a sign-in, a{' '}
              <code>client_credentials</code> grant, or a personal token.{' '}
              <a href="/.well-known/oauth-protected-resource" target="_blank" rel="noreferrer">
                Where tokens come from
              </a>
            </p>
            <p>
              <b>Console session.</b> Whoever is signed in to the <a href="/console">console</a> needs neither.
            </p>
            <p>What you paste is kept in this page's memory only, and is gone when you reload or leave.</p>
          </div>
        </details>
      </div>
    </header>
  )
}

async function whoIs(proof: Proof): Promise<Who> {
  try {
    const answer = await ask(proof, { query: '{ me { type id accountId issuerId scopes } }' })
    const { data, errors } = 'data' in answer || 'errors' in answer ? answer : {}
    if (data?.['me']) return { state: 'known', me: data['me'] as Me }
    return { state: 'refused', why: errors?.[0]?.message ?? 'The server gave no answer that can be read.' }
  } catch {
    return { state: 'refused', why: 'The server cannot be reached.' }
  }
}

function Status({ who }: { who: Who }) {
  if (who.state === 'nobody') return 'Paste a credential to explore the schema and run documents.'
  if (who.state === 'asking') return 'Asking who this is…'
  if (who.state === 'refused') return `Not accepted: ${who.why}`
  const { type, id, accountId, issuerId, scopes } = who.me
  return (
    <>
      You are {type.replaceAll('_', ' ')} <code>{id}</code>
      {accountId && (
        <>
          {' '}
          of account <code>{accountId}</code>
        </>
      )}
      {issuerId && (
        <>
          , issuer <code>{issuerId}</code>
        </>
      )}
      , with{' '}
      {scopes.length === 0 ? (
        'no scopes'
      ) : scopes.length <= 3 ? (
        <code>{scopes.join(' ')}</code>
      ) : (
        <span title={scopes.join(' ')}>{scopes.length} scopes</span>
      )}
      .
    </>
  )
}
