/** A resource that is created on first use. A failed creation is retried on the next use. */
export interface Lazy<T> {
  /** @throws the error of `create`; Error after `close` */
  get(): Promise<T>
  close(): Promise<void>
}

/** @param dispose called by `close` if the resource was created */
export function lazy<T>(create: () => Promise<T>, dispose: (resource: T) => unknown): Lazy<T> {
  let instance: Promise<T> | undefined
  let closed = false
  return {
    async get() {
      if (closed) throw new Error('The resource is closed because the process is shutting down.')
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
