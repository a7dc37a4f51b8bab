/**
 * Replaces the browser's local storage for GraphiQL. Documents and variables may contain passwords and secrets, so they
 * are kept only in memory, until the page is closed or reloaded.
 */
export function createMemoryStorage() {
  const entries = new Map<string, string>()
  return {
    getItem: (name: string) => entries.get(name) ?? null,
    setItem: (name: string, value: string) => void entries.set(name, value),
    removeItem: (name: string) => void entries.delete(name),
    clear: () => entries.clear(),
    get length() {
      return entries.size
    },
  }
}
