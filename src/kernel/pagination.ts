import { invalidField } from './errors.js'
import { limits } from './limits.js'

/** The pagination arguments of a list operation. */
export interface PageRequest {
  limit?: number | null
  cursor?: string | null
}

/** One page of a list (docs/contract.md#pagination). */
export interface Page<T> {
  data: T[]
  /** The cursor of the next page; null on the last page. */
  nextCursor: string | null
  hasMore: boolean
}

/**
 * Returns the requested page size (docs/contract.md#pagination).
 * @throws invalid_request for a size that is not a whole number from 1 to `max`
 */
export function checkPageLimit(
  request: PageRequest,
  max = limits.maxPageLimit,
  fallback = limits.defaultPageLimit,
): number {
  const limit = request.limit ?? fallback
  if (!Number.isInteger(limit) || limit < 1 || limit > max) {
    throw invalidField('limit', 'out_of_range', `must be a whole number from 1 to ${max}.`)
  }
  return limit
}

/**
 * Creates a page from up to `limit + 1` rows: the row beyond the limit only shows that there is a next page. The cursor
 * is the ID of the last row of the page.
 */
export function toPage<T extends { id: string }>(rows: T[], limit: number): Page<T> {
  const data = rows.slice(0, limit)
  const hasMore = rows.length > limit
  return { data, hasMore, nextCursor: hasMore ? (data.at(-1)?.id ?? null) : null }
}

/** Creates the error 400 for a cursor that does not belong to the requested list. */
export const invalidCursor = () =>
  invalidField('cursor', 'invalid_cursor', 'must be the next_cursor of an earlier page of this list.')
