import { use } from 'react'

export interface Person {
  id: string
  username: string
  name: string | null
}

async function ask(): Promise<Person | undefined> {
  try {
    const response = await fetch('/console/session')
    return response.ok ? ((await response.json()) as { user: Person }).user : undefined
  } catch {
    return undefined
  }
}

let asked: Promise<Person | undefined> | undefined

/** Who is signed in to the console. Asked once: another person is another page. */
export function usePerson(): Person | undefined {
  asked ??= ask()
  return use(asked)
}
