/** Remembers the last open account in local storage. Do not store credentials or user data in local storage. */
const STORAGE_KEY = 'gatehouse-last-account'

export function getLastAccountId(): string | undefined {
  try {
    return localStorage.getItem(STORAGE_KEY) ?? undefined
  } catch {
    return undefined
  }
}

export function saveLastAccountId(accountId: string): void {
  try {
    localStorage.setItem(STORAGE_KEY, accountId)
  } catch {
    // Local storage is disabled or full. The console then does not remember the account.
  }
}

export function clearLastAccountId(): void {
  try {
    localStorage.removeItem(STORAGE_KEY)
  } catch {
    // Local storage is disabled.
  }
}
