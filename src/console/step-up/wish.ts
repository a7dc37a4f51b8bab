/**
 * Some things ask for a sign-in that is not long ago (decisions D25). Who has to sign in again does so in a window of
 * its own, so that the page stays as it is, with everything that was typed; then the request is sent once more.
 */
import { useSyncExternalStore } from 'react'

/** What the window of the sign-in tells the others, when it is done. */
export const CHANNEL = 'gatehouse-signed-in'

export interface Wish {
  /** Seconds that the sign-in may be old. */
  maxAge: number
  /** Ends the wish: somebody has signed in again, or does not want to. */
  end(signedIn: boolean): void
}

let wish: Wish | undefined
let answer: Promise<boolean> | undefined
const listeners = new Set<() => void>()

function show(next: Wish | undefined): void {
  wish = next
  for (const listener of listeners) listener()
}

/** Asks the person to sign in again. Whoever asks meanwhile gets the same answer. @returns did they? */
export function signInOnceMore(maxAge: number): Promise<boolean> {
  answer ??= new Promise<boolean>((resolve) => show({ maxAge, end: resolve })).finally(() => {
    answer = undefined
    show(undefined)
  })
  return answer
}

/** What the dialogue is to ask for, if anything. */
export const useWish = (): Wish | undefined =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => wish,
  )
