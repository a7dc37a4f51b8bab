import { useMemo } from 'react'
import { useSearchParams } from 'wouter'

export interface EventFilter {
  issuerId?: string
  userId?: string
  clientId?: string
  eventTypes?: string[]
  after?: number
  before?: number
}

/** What somebody looks for in the events, as the address says it: `?eventTypes=user.created&after=…`. */
export function useEventFilter() {
  const [params, setParams] = useSearchParams()
  const key = params.toString()
  const filter = useMemo((): EventFilter => {
    const asked = new URLSearchParams(key)
    const found: EventFilter = {}
    for (const name of ['issuerId', 'userId', 'clientId'] as const) {
      const value = asked.get(name)
      if (value) found[name] = value
    }
    for (const name of ['after', 'before'] as const) {
      const at = Number(asked.get(name))
      if (at > 0) found[name] = at
    }
    const types = asked.getAll('eventTypes')
    if (types.length > 0) found.eventTypes = types
    return found
  }, [key])
  const set = (name: keyof EventFilter, value: string | number | string[] | undefined) =>
    setParams(
      (now) => {
        const next = new URLSearchParams(now)
        next.delete('cursor')
        next.delete(name)
        const values = Array.isArray(value) ? value : value === undefined || value === '' ? [] : [String(value)]
        for (const one of values) next.append(name, one)
        return next
      },
      { replace: true },
    )
  /** Of an address that shows the same: for the other tabs. */
  const search = useMemo(() => {
    const kept = new URLSearchParams(key)
    kept.delete('cursor')
    return kept.size > 0 ? `?${kept}` : ''
  }, [key])
  return { filter, set, search, isFiltered: Object.keys(filter).length > 0 }
}
