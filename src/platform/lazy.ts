/** A resource that is created on first use. If the creation fails, the next use tries again. */
export interface Lazy<T> {
  /** @throws the error of `create`, or an Error after `close` */
  get(): Promise<T>
  close(): Promise<void>
}

/**
 * Creates a `Lazy`.
 * @param name the name of the resource in the error after `close`
 * @param dispose releases the resource; called by `close` if the resource was created
 */
export function lazy<T>(name: string, create: () => Promise<T>, dispose: (resource: T) => unknown): Lazy<T> {
  let instance: Promise<T> | undefined
  let closed = false
  return {
    async get() {
      if (closed) throw new Error(`The ${name} is closed because Gatehouse is shutting down.`)
      instance ??= create().catch((error) => {
        instance = undefined
        throw error
      })
      return instance
    },
    async close() {
      closed = true
      const created = await instance?.catch(() => undefined)
      if (created) await dispose(created)
    },
  }
}
