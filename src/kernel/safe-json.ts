/** Checks that JSON and form input must pass before a handler runs (docs/contract.md#input-checks). */
import { limits } from './limits.js'

const forbiddenKeys = new Set(['__proto__', 'constructor', 'prototype'])

/** Returns true for text with a NUL character or a lone surrogate, which PostgreSQL and HTTP headers cannot contain. */
const isUnsafeText = (text: string): boolean => text.includes('\0') || !text.isWellFormed()

/**
 * Checks a parsed value for unsafe text, numbers, keys and nesting.
 * @param path the path of the value in the input, for the message
 * @param depth the number of objects and arrays around the value
 * @returns the error message for the caller, or undefined when the value is safe
 */
export function unsafeInputError(value: unknown, path = '', depth = 0): string | undefined {
  const where = path || 'The input'
  if (typeof value === 'string') {
    return isUnsafeText(value) ? `${where} contains a NUL character or a lone surrogate.` : undefined
  }
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return `${where} contains a number that is not finite.`
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) return `${where} contains an integer beyond 2^53 - 1.`
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  if (depth >= limits.maxJsonDepth) return `The input is nested more than ${limits.maxJsonDepth} levels deep.`
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const error = unsafeInputError(value[i], `${path}[${i}]`, depth + 1)
      if (error) return error
    }
    return undefined
  }
  for (const key of Object.keys(value)) {
    if (forbiddenKeys.has(key)) return `The key ${key} is not allowed.`
    if (isUnsafeText(key)) return `${where} has a key with a NUL character or a lone surrogate.`
    const error = unsafeInputError((value as Record<string, unknown>)[key], path ? `${path}.${key}` : key, depth + 1)
    if (error) return error
  }
  return undefined
}

/** The error of `parseJson`. Its message is for the caller. */
export class UnsafeInputError extends Error {
  constructor(
    message: string,
    /** True when the text is not valid JSON, false when it contains an unsafe value. */
    readonly isMalformed = false,
  ) {
    super(message)
  }
}

/**
 * Parses JSON text and checks the value with `unsafeInputError`.
 * @throws UnsafeInputError
 */
export function parseJson(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The SyntaxError is not the `cause` of this error, because its message quotes the text, which may contain secrets.
    throw new UnsafeInputError('The body is not valid JSON.', true)
  }
  const error = unsafeInputError(value)
  if (error) throw new UnsafeInputError(error)
  return value
}
