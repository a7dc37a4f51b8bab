import { use } from 'react'

export interface Person {
  id: string
  username: string
  name: string | null
}

/** Where administrators sign in, whichever account they administer: the system account and its console issuer. */
export interface Home {
  accountId: string
  issuerId: string
}

interface Session {
  user: Person
  home?: Home
}

async function ask(): Promise<Session | undefined> {
  try {
    const response = await fetch('/console/session')
    return response.ok ? ((await response.json()) as Session) : undefined
  } catch {
    return undefined
  }
}

let asked: Promise<Session | undefined> | undefined

/** Who is signed in to the console. Asked once: another person is another page. */
export const usePerson = (): Person | undefined => useSession()?.user

export const useHome = (): Home | undefined => useSession()?.home

function useSession(): Session | undefined {
  asked ??= ask()
  return use(asked)
}
