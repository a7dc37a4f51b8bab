/** Made by whoever first needs it, with the library that it takes: what could not be made is tried again. */
export interface FirstUse<T> {
  /** @throws whatever making it threw; Error once it was closed */
  get(): Promise<T>
  close(): Promise<void>
}

/** @param end closes what was made, if it was */
export function onFirstUse<T>(make: () => Promise<T>, end: (made: T) => unknown): FirstUse<T> {
  let made: Promise<T> | undefined
  let closed = false
  return {
    async get() {
      if (closed) throw new Error('This process is closing.')
      made ??= make().catch((error) => {
        made = undefined
        throw error
      })
      return made
    },
    async close() {
      closed = true
      const thing = await made?.catch(() => undefined)
      if (thing) await end(thing)
    },
  }
}
