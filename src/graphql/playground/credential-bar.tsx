import { type FormEvent, useEffect, useRef, useState } from 'react'
import { hasConsoleSession, sendRequest } from './client.js'
import { type Authentication, readCredential } from './credential.js'
import { collectIds } from './examples.js'
import { knownIds } from './examples-panel.js'
import gate from './gate.svg'

interface Me {
  type: string
  id: string | null
  accountId: string | null
  issuerId: string | null
  scopes: string[]
}

type CredentialState =
  | { state: 'anonymous' }
  | { state: 'checking' }
  | { state: 'refused'; reason: string }
  | { state: 'known'; me: Me }

/**
 * The header with the credential field. A pasted credential is verified with the server and kept only in the memory of
 * this page. As long as no credential was pasted, the console session is used, if there is one.
 */
export function CredentialBar({ onChange }: { onChange(authentication: Authentication | undefined): void }) {
  const [credentialState, setCredentialState] = useState<CredentialState>({ state: 'anonymous' })
  const [pasted, setPasted] = useState('')
  const [hasSession, setHasSession] = useState(false)
  const [usesConsoleSession, setUsesConsoleSession] = useState(false)
  /** True after the user has submitted or removed a credential. The console session is then not used automatically. */
  const hasUserActed = useRef(false)

  async function authenticate(authentication: Authentication): Promise<boolean> {
    setCredentialState({ state: 'checking' })
    const checkedState = await checkCredential(authentication)
    setCredentialState(checkedState)
    if (checkedState.state !== 'known') return false
    for (const name of Object.keys(knownIds)) delete knownIds[name]
    Object.assign(knownIds, collectIds(checkedState.me))
    setUsesConsoleSession(authentication === 'console session')
    onChange(authentication)
    return true
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the page opens
  useEffect(() => {
    void hasConsoleSession().then((there) => {
      setHasSession(there)
      if (there && !hasUserActed.current) void authenticate('console session')
    })
  }, [])

  async function submitCredential(event: FormEvent): Promise<void> {
    event.preventDefault()
    hasUserActed.current = true
    const credential = readCredential(pasted)
    if ('error' in credential) return setCredentialState({ state: 'refused', reason: credential.error })
    if (await authenticate(credential)) setPasted('')
  }

  function clearCredential(): void {
    hasUserActed.current = true
    setUsesConsoleSession(false)
    setCredentialState({ state: 'anonymous' })
    setPasted('')
    for (const name of Object.keys(knownIds)) delete knownIds[name]
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
      <form onSubmit={(event) => void submitCredential(event)}>
        <label htmlFor="credential">Credential</label>
        {/* Not type="password", because browsers would offer to save it. CSS hides the characters. */}
        <input
          id="credential"
          type="text"
          className="secret"
          placeholder={credentialState.state === 'known' ? 'Use another credential' : 'ak_…:secret, or an access token'}
          value={pasted}
          onChange={(event) => setPasted(event.target.value)}
          autoComplete="off"
          autoCapitalize="none"
          autoCorrect="off"
          spellCheck={false}
          aria-describedby="who"
          aria-invalid={credentialState.state === 'refused'}
        />
        <button type="submit" disabled={credentialState.state === 'checking'}>
          Use
        </button>
        {credentialState.state === 'known' && (
          <button type="button" className="quiet" onClick={clearCredential}>
            Remove
          </button>
        )}
        {hasSession && !usesConsoleSession && (
          <button type="button" className="quiet" onClick={() => void authenticate('console session')}>
            Use my console session
          </button>
        )}
      </form>
      <div className="below">
        <p id="who" role="status" data-state={credentialState.state}>
          <CredentialStatus credentialState={credentialState} />
        </p>
        <nav aria-label="Gatehouse">
          <a href="/console">Console</a>
          <a href="/docs">REST reference</a>
        </nav>
        <details onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.removeAttribute('open')}>
          <summary>How to get a credential</summary>
          <div className="hint">
            <p>
              <b>API key.</b> On the server, <code>gatehouse account create --name "Acme"</code> creates an account and
              prints its first key. <code>BOOTSTRAP_API_KEY</code> sets a key of an operator before the first start. To
              create more keys, use the <code>createApiKey</code> mutation.
            </p>
            <p>
              <b>Access token.</b> Any token whose audience is the URL of this API: from a sign-in, a{' '}
              <code>client_credentials</code> grant, or a personal token.{' '}
              <a href="/.well-known/oauth-protected-resource" target="_blank" rel="noreferrer">
                Protected resource metadata
              </a>
            </p>
            <p>
              <b>Console session.</b> If you are signed in to the <a href="/console">console</a>, you need no other
              credential.
            </p>
            <p>A pasted credential is kept only in the memory of this page and is lost when you reload or leave it.</p>
          </div>
        </details>
      </div>
    </header>
  )
}

async function checkCredential(authentication: Authentication): Promise<CredentialState> {
  try {
    const response = await sendRequest(authentication, { query: '{ me { type id accountId issuerId scopes } }' })
    const { data, errors } = 'data' in response || 'errors' in response ? response : {}
    if (data?.['me']) return { state: 'known', me: data['me'] as Me }
    return { state: 'refused', reason: errors?.[0]?.message ?? 'The server returned an unexpected response.' }
  } catch {
    return { state: 'refused', reason: 'The server cannot be reached.' }
  }
}

function CredentialStatus({ credentialState }: { credentialState: CredentialState }) {
  if (credentialState.state === 'anonymous') return 'Paste a credential to explore the schema and run documents.'
  if (credentialState.state === 'checking') return 'Checking the credential…'
  if (credentialState.state === 'refused') return `Not accepted: ${credentialState.reason}`
  const { type, id, accountId, issuerId, scopes } = credentialState.me
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
