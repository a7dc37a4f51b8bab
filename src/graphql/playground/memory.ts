/**
 * What GraphiQL would keep in the browser's local storage, until the page is left. Documents and variables hold
 * passwords and secrets here, so none of it may outlive the page.
 */
export function memory(): Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'clear' | 'length'> {
  const entries = new Map<string, string>()
  return {
    getItem: (name) => entries.get(name) ?? null,
    setItem: (name, value) => void entries.set(name, value),
    removeItem: (name) => void entries.delete(name),
    clear: () => entries.clear(),
    get length() {
      return entries.size
    },
  }
}
