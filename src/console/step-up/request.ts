/**
 * Step-up authentication: some operations require a recent sign-in (docs/contract.md#recent-sign-in). The user signs in
 * again in a popup window, so that the page keeps its unsaved input. Then the request that was refused is sent again.
 */
import { useSyncExternalStore } from 'react'

/** The broadcast channel on which the popup window reports a completed sign-in. */
export const SIGNED_IN_CHANNEL = 'gatehouse-signed-in'

export interface StepUpRequest {
  /** Maximum age of the sign-in (seconds). */
  maxAge: number
  /** Ends the request: true after a new sign-in, false if the user canceled. */
  complete(signedIn: boolean): void
}

let currentRequest: StepUpRequest | undefined
let pendingResult: Promise<boolean> | undefined
const listeners = new Set<() => void>()

function setCurrentRequest(next: StepUpRequest | undefined): void {
  currentRequest = next
  for (const listener of listeners) listener()
}

/**
 * Asks the user to sign in again. Concurrent calls share one request, with the maximum age of the first call.
 * @param maxAge maximum age of the sign-in (seconds)
 * @returns true if the user has signed in, false if the user canceled
 */
export function requestStepUp(maxAge: number): Promise<boolean> {
  pendingResult ??= new Promise<boolean>((resolve) => setCurrentRequest({ maxAge, complete: resolve })).finally(() => {
    pendingResult = undefined
    setCurrentRequest(undefined)
  })
  return pendingResult
}

/** The open step-up request, if any. */
export const useStepUpRequest = (): StepUpRequest | undefined =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => currentRequest,
  )
