/**
 * What GraphiQL would keep in the browser's local storage, until the page is left. Documents and variables hold
 * passwords and secrets here, so none of it may outlive the page.
 */
export function memory() {
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
