import { useCallback, useMemo } from 'react'
import { useLocation, useSearchParams } from 'wouter'

export interface ListParams {
  /** The active search and filters, by query variable. */
  filters: Record<string, string>
  cursor: string | undefined
  /** Sets a filter, or removes it if the value is empty, and returns to the first page. */
  set(name: string, value: string): void
  goToCursor(cursor: string): void
  /** Goes back in the history of the browser tab, or to the first page if the history has no previous page. */
  previousPage(): void
  clear(): void
}

/** The search, filters and cursor of a list, stored in the URL: `?search=ada&status=active&cursor=…`. */
export function useListParams(names: readonly string[]): ListParams {
  const [params, setParams] = useSearchParams()
  const [, navigate] = useLocation()
  const key = names.map((name) => `${name}=${params.get(name) ?? ''}`).join('&')
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key contains all values
  const filters = useMemo(
    () => Object.fromEntries(names.flatMap((name) => (params.get(name) ? [[name, params.get(name)!]] : []))),
    [key],
  )
  const updateParams = useCallback(
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
    filters,
    cursor: params.get('cursor') ?? undefined,
    set: (name, value) =>
      updateParams((next) => {
        next.delete('cursor')
        if (value === '') next.delete(name)
        else next.set(name, value)
      }, true),
    goToCursor: (cursor) => updateParams((next) => next.set('cursor', cursor), false, depth + 1),
    previousPage: () => (depth > 0 ? history.back() : updateParams((next) => next.delete('cursor'), false)),
    clear: () => navigate(location.pathname.replace(/^\/console/, '')),
  }
}
