import DataLoader from 'dataloader'
import { limitOf, type Page } from '../kernel/page.js'
import type { Context } from './context.js'

/**
 * The DataLoader of this request for a function that answers many keys at once, in their order. Loaders belong to the
 * request's context, so nothing is ever shared between callers.
 */
export function loader<V>(
  context: Context,
  fill: (context: Context, keys: readonly string[]) => Promise<V[]>,
): DataLoader<string, V> {
  let found = context.loaders.get(fill) as DataLoader<string, V> | undefined
  if (!found) {
    found = new DataLoader<string, V>((keys) => fill(context, keys))
    context.loaders.set(fill, found as DataLoader<string, unknown>)
  }
  return found
}

/**
 * The same for the first page of a list below many parents. Parents with the same limit share one query.
 * @throws invalid_request for a limit outside of 1 to 100
 */
export function pageLoader<T>(
  context: Context,
  fill: (context: Context, keys: readonly string[], limit: number) => Promise<Page<T>[]>,
  limit: number | null | undefined,
): DataLoader<string, Page<T>> {
  const size = limitOf({ limit: limit ?? null })
  const fills = (pageFills.get(fill) ?? new Map()) as Map<number, typeof fill>
  pageFills.set(fill, fills)
  const sized = fills.get(size) ?? ((inside, keys) => fill(inside, keys, size))
  fills.set(size, sized)
  return loader(context, sized as (context: Context, keys: readonly string[]) => Promise<Page<T>[]>)
}

/** One function per list and page size, so that the loaders of a request can be found by it. At most 100 each. */
const pageFills = new Map<unknown, unknown>()
