import DataLoader from 'dataloader'
import { checkPageLimit, type Page } from '../../kernel/pagination.js'
import type { Context } from '../context.js'

/**
 * Returns the DataLoader of this request for a batch function. Loaders belong to the request's context, so their caches
 * are never shared between callers.
 * @param loadBatch returns the values of many keys, in their order
 */
export function loader<V>(
  context: Context,
  loadBatch: (context: Context, keys: readonly string[]) => Promise<V[]>,
): DataLoader<string, V> {
  let found = context.loaders.get(loadBatch) as DataLoader<string, V> | undefined
  if (!found) {
    found = new DataLoader<string, V>((keys) => loadBatch(context, keys))
    context.loaders.set(loadBatch, found as DataLoader<string, unknown>)
  }
  return found
}

/**
 * Like `loader`, for the first page of a list per parent. Parents with the same limit share one query.
 * @throws invalid_request for a limit that is not 1 to 100
 */
export function pageLoader<T>(
  context: Context,
  loadBatch: (context: Context, keys: readonly string[], limit: number) => Promise<Page<T>[]>,
  limit: number | null | undefined,
): DataLoader<string, Page<T>> {
  const size = checkPageLimit({ limit: limit ?? null })
  const loadersByLimit = (limitedLoads.get(loadBatch) ?? new Map()) as Map<number, typeof loadBatch>
  limitedLoads.set(loadBatch, loadersByLimit)
  const limitedLoad = loadersByLimit.get(size) ?? ((tx, keys) => loadBatch(tx, keys, size))
  loadersByLimit.set(size, limitedLoad)
  return loader(context, limitedLoad as (context: Context, keys: readonly string[]) => Promise<Page<T>[]>)
}

/** One function per list and page size (at most 100 per list), as the key of the request's loaders. */
const limitedLoads = new Map<unknown, unknown>()
