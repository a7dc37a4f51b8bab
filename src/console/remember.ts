/** Small things that a browser may remember: no credentials, nothing about tenants' people. */
const ACCOUNT = 'gatehouse-last-account'

export function lastAccount(): string | undefined {
  try {
    return localStorage.getItem(ACCOUNT) ?? undefined
  } catch {
    return undefined
  }
}

export function rememberAccount(accountId: string): void {
  try {
    localStorage.setItem(ACCOUNT, accountId)
  } catch {
    // A browser that keeps nothing opens the first account.
  }
}

export function forgetAccount(): void {
  try {
    localStorage.removeItem(ACCOUNT)
  } catch {
    // The same.
  }
}
