/** Compares an issuer document with the current state. */
import { canonicalJson } from '../../../kernel/canonical-json.js'
import { isObject, mergePatch } from '../../../kernel/merge-patch.js'
import type { DeclarationEntry } from './declaration.js'

/** A changed field. `old` is absent if the field was added, `new` if it was removed. */
export interface Difference {
  field: string
  old?: unknown
  new?: unknown
}

/**
 * Fields that update operations merge with the current value (JSON Merge Patch, RFC 7396). The values of other fields
 * are replaced.
 */
const mergedFields = new Set(['settings'])

/**
 * Compares an entry of a document with the current entry. Fields that `desired` does not contain are ignored.
 * @returns the differences, and the fields of `desired` that the update operation must get
 */
export function compareEntries(
  current: DeclarationEntry,
  desired: DeclarationEntry,
): { differences: Difference[]; patch: DeclarationEntry } {
  const differences: Difference[] = []
  const patch: DeclarationEntry = {}
  for (const [key, value] of Object.entries(desired)) {
    const after = mergedFields.has(key) ? mergePatch(current[key], value) : value
    if (canonicalJson(after ?? null) === canonicalJson(current[key] ?? null)) continue
    patch[key] = value
    differences.push(...diffValues(key, current[key] ?? undefined, after ?? undefined))
  }
  return { differences, patch }
}

/**
 * Returns the differences of two values at any depth. Lists are compared as a whole.
 * @param field the path of the values, which begins the path of each difference
 */
export function diffValues(field: string, old: unknown, now: unknown): Difference[] {
  if (canonicalJson(old ?? null) === canonicalJson(now ?? null)) return []
  if (isObject(old) || isObject(now)) {
    const [before, after] = [isObject(old) ? old : {}, isObject(now) ? now : {}]
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
    if (keys.length > 0) return keys.flatMap((key) => diffValues(`${field}.${key}`, before[key], after[key]))
  }
  return [{ field, ...(old !== undefined && { old }), ...(now !== undefined && { new: now }) }]
}
