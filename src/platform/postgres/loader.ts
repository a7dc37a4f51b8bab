import DataLoader from 'dataloader'
import { limits } from '../../kernel/limits.js'
import { checkPageLimit, type Page, type PageRequest } from '../../kernel/pagination.js'
import type { Context } from '../context.js'

/**
 * Returns the DataLoader of the request for a batch function, and creates it on the first call. DataLoaders belong to
 * the context of a request, so callers never share their caches.
 * @param loadBatch returns the values of many keys, in the order of the keys
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
 * Returns the DataLoader for the first page of a list of many parents, such as the clients of several issuers. Pages
 * with the same limit are read with one query.
 * @param loadBatch returns the first pages of many parents, in the order of the keys
 * @throws invalid_request for a limit that is not a whole number from 1 to `limits.maxPageLimit`
 */
export function pageLoader<T>(
  context: Context,
  loadBatch: (context: Context, keys: readonly string[], limit: number) => Promise<Page<T>[]>,
  limit: number | null | undefined,
): DataLoader<string, Page<T>> {
  const size = checkPageLimit({ limit: limit ?? limits.defaultRelationLimit })
  const loadersByLimit = (limitedLoads.get(loadBatch) ?? new Map()) as Map<number, typeof loadBatch>
  limitedLoads.set(loadBatch, loadersByLimit)
  const limitedLoad = loadersByLimit.get(size) ?? ((tx, keys) => loadBatch(tx, keys, size))
  loadersByLimit.set(size, limitedLoad)
  return loader(context, limitedLoad as (context: Context, keys: readonly string[]) => Promise<Page<T>[]>)
}

/**
 * Returns a page of a relation: the first page with the DataLoader for many parents, a later page with the list itself.
 * @param page the arguments of the relation
 * @param key the key of the parent
 * @param loadFirstPages returns the first pages of many parents, see `pageLoader`
 * @param list lists the entries of this parent after a cursor
 * @throws invalid_request for an invalid limit or cursor
 */
export function relatedPage<T>(
  context: Context,
  page: PageRequest,
  key: string,
  loadFirstPages: (context: Context, keys: readonly string[], limit: number) => Promise<Page<T>[]>,
  list: () => Promise<Page<T>>,
): Promise<Page<T>> {
  return page.cursor ? list() : pageLoader(context, loadFirstPages, page.limit).load(key)
}

/** The batch functions by list and page size. Each must be the same function for all requests, see `loader`. */
const limitedLoads = new Map<unknown, unknown>()
