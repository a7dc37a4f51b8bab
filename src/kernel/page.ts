import { invalidField } from './errors.js'

/** What a list operation takes. */
export interface PageRequest {
  limit?: number | null
  cursor?: string | null
}

/** One page of a list (decisions D1). `nextCursor` is null on the last page. */
export interface Page<T> {
  data: T[]
  nextCursor: string | null
  hasMore: boolean
}

export const DEFAULT_LIMIT = 50
export const MAX_LIMIT = 100

/**
 * The page size asked for (spec section 8): 1 to `max`, no silent clamp.
 * @throws invalid_request
 */
export function limitOf(request: PageRequest, max = MAX_LIMIT, fallback = DEFAULT_LIMIT): number {
  const limit = request.limit ?? fallback
  if (!Number.isInteger(limit) || limit < 1 || limit > max) {
    throw invalidField('limit', 'out_of_range', `must be a whole number from 1 to ${max}.`)
  }
  return limit
}

/** Cuts a page out of rows fetched with one more than the limit; the cursor is the last row's id. */
export function pageOf<T extends { id: string }>(rows: T[], limit: number): Page<T> {
  const data = rows.slice(0, limit)
  const hasMore = rows.length > limit
  return { data, hasMore, nextCursor: hasMore ? (data.at(-1)?.id ?? null) : null }
}

/** 400 for a cursor that this list never gave out. */
export const unknownCursor = () =>
  invalidField('cursor', 'invalid_cursor', 'must be the next_cursor of an earlier page of this list.')
