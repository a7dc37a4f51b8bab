import { use } from 'react'

export interface Person {
  id: string
  username: string
  name: string | null
}

/** What the server part knows besides GraphQL. */
export interface Visit {
  user: Person
  /** The public address of the issuers: each is at `{idpUrl}/{issuerId}`. */
  idpUrl: string
  /** The account that the console itself lives in. */
  consoleAccountId: string
  /** Where administrators sign in, whichever account they administer: in that account, at its console issuer. */
  home?: { accountId: string; issuerId: string }
}

async function ask(): Promise<Visit | undefined> {
  try {
    const response = await fetch('/console/session')
    return response.ok ? ((await response.json()) as Visit) : undefined
  } catch {
    return undefined
  }
}

let asked: Promise<Visit | undefined> | undefined

/** Asked once: another person is another page. */
export function useVisit(): Visit | undefined {
  asked ??= ask()
  return use(asked)
}

/** Who is signed in to the console. */
export const usePerson = (): Person | undefined => useVisit()?.user
