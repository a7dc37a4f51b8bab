/** What a document would change of what there is. */
import { canonicalJson } from '../../../kernel/canonical.js'
import { isObject, mergePatch } from '../../../kernel/merge.js'
import type { Entry } from './declaration.js'

/** One value that changes, by its path; undefined for what is not there. */
export interface Difference {
  field: string
  old?: unknown
  new?: unknown
}

/** Fields that are merged (decisions D29: `null` removes, what is not named stays); all others are replaced. */
const merged = new Set(['settings'])

/**
 * Compares the named fields.
 * @returns what differs, and the part of the wanted entry that an operation must be given
 */
export function compare(present: Entry, wanted: Entry): { differences: Difference[]; patch: Entry } {
  const differences: Difference[] = []
  const patch: Entry = {}
  for (const [key, value] of Object.entries(wanted)) {
    const after = merged.has(key) ? mergePatch(present[key], value) : value
    if (canonicalJson(after ?? null) === canonicalJson(present[key] ?? null)) continue
    patch[key] = value
    differences.push(...leaves(key, present[key] ?? undefined, after ?? undefined))
  }
  return { differences, patch }
}

/** The values that differ, however deep they are; lists count as one value. */
export function leaves(field: string, old: unknown, now: unknown): Difference[] {
  if (canonicalJson(old ?? null) === canonicalJson(now ?? null)) return []
  if (isObject(old) || isObject(now)) {
    const [before, after] = [isObject(old) ? old : {}, isObject(now) ? now : {}]
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
    if (keys.length > 0) return keys.flatMap((key) => leaves(`${field}.${key}`, before[key], after[key]))
  }
  return [{ field, ...(old !== undefined && { old }), ...(now !== undefined && { new: now }) }]
}
