/** The input gate (decisions part 0): what no handler ever sees, whichever door it comes in by. */

const MAX_DEPTH = 32
const forbiddenKeys = new Set(['__proto__', 'constructor', 'prototype'])

/** Text that PostgreSQL or a header cannot carry: NUL, and halves of surrogate pairs. */
const badText = (text: string): boolean => text.includes('\0') || !text.isWellFormed()

/**
 * Looks through a parsed value for what the gate refuses.
 * @returns a sentence for the caller that says what is wrong and where, or undefined when the value may pass
 */
export function gateFault(value: unknown, path = '', depth = 0): string | undefined {
  const where = path || 'The input'
  if (typeof value === 'string') {
    return badText(value) ? `${where} holds a NUL character or half of a surrogate pair.` : undefined
  }
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return `${where} holds a number that is not finite.`
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) return `${where} holds an integer beyond 2^53 - 1.`
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  if (depth >= MAX_DEPTH) return `The input is nested more than ${MAX_DEPTH} levels deep.`
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const fault = gateFault(value[i], `${path}[${i}]`, depth + 1)
      if (fault) return fault
    }
    return undefined
  }
  for (const key of Object.keys(value)) {
    if (forbiddenKeys.has(key)) return `The key ${key} is not allowed.`
    if (badText(key)) return `${where} has a key with a NUL character or half of a surrogate pair.`
    const fault = gateFault((value as Record<string, unknown>)[key], path ? `${path}.${key}` : key, depth + 1)
    if (fault) return fault
  }
  return undefined
}

/** Thrown by parseJson: a sentence for the caller. */
export class GateError extends Error {}

/**
 * Parses JSON text and passes it through the gate.
 * @throws GateError with the sentence to answer
 */
export function parseJson(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new GateError('The body is not valid JSON.')
  }
  const fault = gateFault(value)
  if (fault) throw new GateError(fault)
  return value
}
