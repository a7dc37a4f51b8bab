import { z } from 'zod'
import { type Detail, invalid, invalidField } from './errors.js'
import { type JsonObject, mergeMetadata } from './merge.js'
import { scopeToken } from './scopes.js'
import { LAST_MOMENT } from './time.js'

/** The path of a fault as the contract writes it: `settings.openid.redirect_uris[0]`. */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text ? `${text}.${String(part)}` : String(part)),
    '',
  )
}

const codes: Record<string, string> = {
  invalid_type: 'invalid_type',
  invalid_value: 'invalid_value',
  invalid_format: 'invalid_format',
  too_small: 'too_small',
  too_big: 'too_big',
  unrecognized_keys: 'unknown_field',
}

/** What stands at a path of a value; undefined where nothing does. */
const partAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((part, key) => (part as Record<PropertyKey, unknown> | null | undefined)?.[key], value)

function detailsOf(issues: readonly z.core.$ZodIssue[], value: unknown, prefix: readonly PropertyKey[]): Detail[] {
  return issues.flatMap((issue): Detail[] => {
    const path = [...prefix, ...issue.path]
    // Whatever a rule says of what is not there, it says that it must be there.
    if (issue.code !== 'custom' && issue.code !== 'unrecognized_keys' && partAt(value, issue.path) === undefined) {
      return [{ field: fieldPath(path), code: 'required', message: 'is required.' }]
    }
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        field: fieldPath([...path, key]),
        code: 'unknown_field',
        message: 'is not a field of this resource.',
      }))
    }
    const code =
      issue.code === 'custom'
        ? String(issue.params?.['code'] ?? 'invalid_value')
        : (codes[issue.code] ?? 'invalid_value')
    return [{ field: fieldPath(path), code, message: issue.message }]
  })
}

/** An object whose absent keys are absent, not undefined: what was not sent must not be written. */
export type Given<T> = T extends object ? { [K in keyof T]: Exclude<T[K], undefined> } : T

/**
 * Checks an input against its rules and answers what was given, with its type.
 * @throws invalid_request with one detail per fault
 */
export function check<T extends object>(
  rules: z.ZodType<T>,
  value: unknown,
  prefix: readonly PropertyKey[] = [],
): Given<T> {
  const result = rules.safeParse(value)
  if (!result.success) throw invalid(detailsOf(result.error.issues, value, prefix))
  return Object.fromEntries(Object.entries(result.data).filter(([, part]) => part !== undefined)) as Given<T>
}

/**
 * Refuses a moment of the caller's choice that has passed, after which a credential would be born dead.
 * @param now Unix milliseconds, as the moment
 * @throws invalid_request; never for a moment that is not given
 */
export function mustLieAhead(now: number, field: string, moment: number | null | undefined): void {
  if (moment === null || moment === undefined || moment > now) return
  throw invalidField(field, 'out_of_range', 'must lie in the future, in Unix milliseconds.')
}

/** A fault raised inside a rule: `context.addIssue(fault(path, code, message))`. */
export const fault = (path: PropertyKey[], code: string, message: string) =>
  ({ code: 'custom', path, message, params: { code }, input: undefined }) as const

/** Rules that several resources share. Messages are complete sentences' ends: the field's name stands before them. */
export const rules = {
  name: z.string('must be a string.').trim().min(1, 'must not be empty.').max(200, 'must have at most 200 characters.'),
  description: z.string('must be a string or null.').max(10_000, 'must have at most 10,000 characters.').nullable(),
  text: (max = 1000) => z.string('must be a string.').max(max, `must have at most ${max} characters.`),
  url: z
    .string('must be a URL or null.')
    .max(2048, 'must have at most 2,048 characters.')
    .refine(isWebUrl, { error: 'must be an absolute https or http URL.', params: { code: 'invalid_format' } })
    .nullable(),
  object: z.record(z.string(), z.unknown(), 'must be an object.'),
  /** Settings are open: known keys are checked, unknown ones kept (decisions D26). */
  metadata: z
    .record(z.string(), z.unknown(), 'must be an object.')
    .refine((value) => Object.keys(value).length <= 50, {
      error: 'must have at most 50 keys.',
      params: { code: 'too_big' },
    })
    .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= 16_384, {
      error: 'must have at most 16 KiB.',
      params: { code: 'too_big' },
    }) as z.ZodType<JsonObject>,
  scopes: z
    .array(
      z
        .string('must be a string.')
        .regex(scopeToken, 'must be a scope token: printable, without spaces, quotes or backslashes.'),
      'must be an array of scopes.',
    )
    .max(500, 'must have at most 500 entries.')
    .transform((list) => [...new Set(list)]),
  tags: z
    .array(
      z.string('must be a string.').min(1, 'must not be empty.').max(100, 'must have at most 100 characters.'),
      'must be an array of strings.',
    )
    .max(50, 'must have at most 50 entries.'),
  /** Unix milliseconds. */
  moment: z
    .int('must be a whole number of Unix milliseconds.')
    .min(0, 'must not be negative.')
    .max(LAST_MOMENT, 'must lie before the year 10000.'),
  boolean: z.boolean('must be true or false.'),
}

/** Metadata after a PATCH (decisions D27). @throws invalid_request when the merged whole is too large */
export const mergedMetadata = (before: unknown, patch: JsonObject): JsonObject =>
  check(rules.metadata, mergeMetadata(before, patch), ['metadata'])

/** Is this an absolute http or https URL without credentials, control characters or backslashes? */
export function isWebUrl(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
  if (/[\u0000-\u0020\u007f\\]/.test(text) || !URL.canParse(text)) return false
  const url = new URL(text)
  return (url.protocol === 'https:' || url.protocol === 'http:') && url.username === '' && url.password === ''
}
