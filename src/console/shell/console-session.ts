import { use } from 'react'

export interface ConsoleUser {
  id: string
  username: string
  name: string | null
}

/** The response of `GET /console/session`. */
export interface ConsoleSession {
  user: ConsoleUser
  /** The public address of the issuers: each is at `{idpUrl}/{issuerId}`. */
  idpUrl: string
  /** The system account, which contains the console issuer. */
  consoleAccountId: string
  /** The console issuer, at which the administrators of all accounts sign in, and its account. */
  home?: { accountId: string; issuerId: string }
  /** The version of Gatehouse. */
  version: string
}

async function fetchSession(): Promise<ConsoleSession | undefined> {
  try {
    const response = await fetch('/console/session')
    return response.ok ? ((await response.json()) as ConsoleSession) : undefined
  } catch {
    return undefined
  }
}

let sessionPromise: Promise<ConsoleSession | undefined> | undefined

/** Returns the session, which is loaded once per page load; undefined if it could not be loaded. */
export function useConsoleSession(): ConsoleSession | undefined {
  sessionPromise ??= fetchSession()
  return use(sessionPromise)
}

/** The user who is signed in to the console. */
export const useCurrentUser = (): ConsoleUser | undefined => useConsoleSession()?.user
