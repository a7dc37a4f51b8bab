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

/** The event filter, stored in the URL: `?eventTypes=user.created&after=…`. */
export function useEventFilter() {
  const [params, setParams] = useSearchParams()
  const key = params.toString()
  const filter = useMemo((): EventFilter => {
    const searchParams = new URLSearchParams(key)
    const eventFilter: EventFilter = {}
    for (const name of ['issuerId', 'userId', 'clientId'] as const) {
      const value = searchParams.get(name)
      if (value) eventFilter[name] = value
    }
    for (const name of ['after', 'before'] as const) {
      const at = Number(searchParams.get(name))
      if (at > 0) eventFilter[name] = at
    }
    const types = searchParams.getAll('eventTypes')
    if (types.length > 0) eventFilter.eventTypes = types
    return eventFilter
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
  return { filter, set, isFiltered: Object.keys(filter).length > 0 }
}
