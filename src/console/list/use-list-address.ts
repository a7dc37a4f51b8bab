import { useCallback, useMemo } from 'react'
import { useLocation, useSearchParams } from 'wouter'

export interface ListAddress {
  /** The search and filters that are set, as the query's variables. */
  given: Record<string, string>
  cursor: string | undefined
  /** Empty removes it. Begins at the first page again. */
  set(name: string, value: string): void
  goTo(cursor: string): void
  /** The page before; without one in the history of this tab, the first. */
  back(): void
  clear(): void
}

/** What a list shows, as its address says it: `?search=ada&status=active&cursor=…`. */
export function useListAddress(names: readonly string[]): ListAddress {
  const [params, setParams] = useSearchParams()
  const [, navigate] = useLocation()
  const key = names.map((name) => `${name}=${params.get(name) ?? ''}`).join('&')
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says all of it
  const given = useMemo(
    () => Object.fromEntries(names.flatMap((name) => (params.get(name) ? [[name, params.get(name)!]] : []))),
    [key],
  )
  const change = useCallback(
    (edit: (next: URLSearchParams) => void, replace: boolean, depth = 0) =>
      setParams(
        (now) => {
          const next = new URLSearchParams(now)
          edit(next)
          return next
        },
        { replace, state: { depth } },
      ),
    [setParams],
  )
  const depth = (history.state as { depth?: number } | null)?.depth ?? 0
  return {
    given,
    cursor: params.get('cursor') ?? undefined,
    set: (name, value) =>
      change((next) => {
        next.delete('cursor')
        if (value === '') next.delete(name)
        else next.set(name, value)
      }, true),
    goTo: (cursor) => change((next) => next.set('cursor', cursor), false, depth + 1),
    back: () => (depth > 0 ? history.back() : change((next) => next.delete('cursor'), false)),
    clear: () => navigate(location.pathname.replace(/^\/console/, '')),
  }
}
