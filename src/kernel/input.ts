import { z } from 'zod'
import { type ErrorDetail, invalidField, invalidFields } from './errors.js'
import { limits } from './limits.js'
import { type JsonObject, mergeMetadata } from './merge-patch.js'
import { scopeTokenPattern } from './scopes.js'

/** Formats the path of a field, such as `settings.openid.redirect_uris[0]`. */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : text ? `${text}.${String(part)}` : String(part)),
    '',
  )
}

const detailCodes: Record<string, string> = {
  invalid_type: 'invalid_type',
  invalid_value: 'invalid_value',
  invalid_format: 'invalid_format',
  too_small: 'too_small',
  too_big: 'too_big',
  unrecognized_keys: 'unknown_field',
}

const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((part, key) => (part as Record<PropertyKey, unknown> | null | undefined)?.[key], value)

function errorDetails(
  issues: readonly z.core.$ZodIssue[],
  value: unknown,
  prefix: readonly PropertyKey[],
): ErrorDetail[] {
  // A value of the wrong type can break further rules, such as the length of an array in the place of a text.
  const wrongTypes = new Set(issues.filter(({ code }) => code === 'invalid_type').map(({ path }) => fieldPath(path)))
  const relevant = issues.filter(({ code, path }) => code === 'invalid_type' || !wrongTypes.has(fieldPath(path)))
  return relevant.flatMap((issue): ErrorDetail[] => {
    const path = [...prefix, ...issue.path]
    // A built-in rule that fails for an absent value can only mean that the value is required.
    if (issue.code !== 'custom' && issue.code !== 'unrecognized_keys' && valueAt(value, issue.path) === undefined) {
      return [{ field: fieldPath(path), code: 'required', message: 'is required.' }]
    }
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        field: fieldPath([...path, key]),
        code: 'unknown_field',
        message: 'is not a field that can be set here.',
      }))
    }
    const code =
      issue.code === 'custom'
        ? String(issue.params?.['code'] ?? 'invalid_value')
        : (detailCodes[issue.code] ?? 'invalid_value')
    return [{ field: fieldPath(path), code, message: issue.message }]
  })
}

/**
 * The object type whose optional keys are absent instead of undefined. An update writes every key that is present, so
 * an undefined value must not be one of them.
 */
export type WithoutUndefined<T> = T extends object ? { [K in keyof T]: Exclude<T[K], undefined> } : T

/** The values that `checkInput` has returned, with their schema. */
const checkedValues = new WeakMap<object, z.ZodType>()

/**
 * Validates an input against a schema and returns its parsed fields. A field that the input does not contain has no key
 * in the result. Values that this function has returned for the same schema are not validated again.
 * @param prefix the path of the input in the request, for the field names of errors
 * @throws invalid_request with one detail per error
 */
export function checkInput<T extends object>(
  schema: z.ZodType<T>,
  value: unknown,
  prefix: readonly PropertyKey[] = [],
): WithoutUndefined<T> {
  if (typeof value === 'object' && value !== null && checkedValues.get(value) === schema)
    return value as WithoutUndefined<T>
  const result = schema.safeParse(value)
  if (!result.success) throw invalidFields(errorDetails(result.error.issues, value, prefix))
  const values = Object.fromEntries(Object.entries(result.data).filter(([, part]) => part !== undefined))
  checkedValues.set(values, schema)
  return values as WithoutUndefined<T>
}

/**
 * Checks that an expiry time is in the future. Accepts null and undefined.
 * @param now Unix milliseconds
 * @param timestamp the expiry time in Unix milliseconds
 * @throws invalid_request for a time that is not in the future
 */
export function requireFuture(now: number, field: string, timestamp: number | null | undefined): void {
  if (timestamp === null || timestamp === undefined || timestamp > now) return
  throw invalidField(field, 'out_of_range', 'must be in the future, in Unix milliseconds.')
}

/** Creates an issue for `addIssue` of a Zod refinement: `context.addIssue(customIssue(path, code, message))`. */
export const customIssue = (path: PropertyKey[], code: string, message: string) =>
  ({ code: 'custom', path, message, params: { code }, input: undefined }) as const

/** The URLs with a host name, for the OpenAPI document. `isWebUrl` also accepts other hosts, such as IP addresses. */
const webUrlPattern = String.raw`^https?://([A-Za-z0-9-]+\.)*[A-Za-z][A-Za-z0-9]*(:[1-5]?[0-9]{1,4})?([/?#][^\u0000-\u0020\u007f\\]*)?$`

/** Field schemas that several resources share. A message is the rest of a sentence that begins with the field name. */
export const fieldSchemas = {
  name: z
    .string('must be a string.')
    .trim()
    .min(1, 'must not be empty.')
    .max(limits.maxNameLength, `must have at most ${limits.maxNameLength} characters.`)
    .meta({ pattern: String.raw`\S` }),
  description: z
    .string('must be a string or null.')
    .max(
      limits.maxDescriptionLength,
      `must have at most ${limits.maxDescriptionLength.toLocaleString('en-US')} characters.`,
    )
    .nullable(),
  text: (max = limits.maxTextLength) => z.string('must be a string.').max(max, `must have at most ${max} characters.`),
  url: z
    .string('must be a URL or null.')
    .max(limits.maxUrlLength, `must have at most ${limits.maxUrlLength.toLocaleString('en-US')} characters.`)
    .refine(isWebUrl, {
      error: 'must be an absolute https or http URL without credentials, spaces, control characters and backslashes.',
      params: { code: 'invalid_format' },
    })
    .meta({ format: 'uri', pattern: webUrlPattern })
    .nullable(),
  object: z.record(z.string(), z.unknown(), 'must be an object.'),
  metadata: z
    .record(z.string(), z.unknown(), 'must be an object.')
    .meta({ maxProperties: limits.maxMetadataKeys })
    .refine((value) => Object.keys(value).length <= limits.maxMetadataKeys, {
      error: `must have at most ${limits.maxMetadataKeys} keys.`,
      params: { code: 'too_big' },
    })
    .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= limits.maxMetadataBytes, {
      error: `must have at most ${limits.maxMetadataBytes / 1024} KiB.`,
      params: { code: 'too_big' },
    }) as z.ZodType<JsonObject>,
  scopes: z
    .array(
      z
        .string('must be a string.')
        .regex(
          scopeTokenPattern,
          'must be 1 to 128 printable ASCII characters without spaces, quotes and backslashes.',
        ),
      'must be an array of scopes.',
    )
    .max(limits.maxScopes, `must have at most ${limits.maxScopes} entries.`)
    .transform((list) => [...new Set(list)]),
  tags: z
    .array(
      z
        .string('must be a string.')
        .min(1, 'must not be empty.')
        .max(limits.maxTagLength, `must have at most ${limits.maxTagLength} characters.`),
      'must be an array of strings.',
    )
    .max(limits.maxTags, `must have at most ${limits.maxTags} entries.`),
  /** Unix milliseconds. */
  timestamp: z
    .int('must be a whole number of Unix milliseconds.')
    .min(0, 'must not be negative.')
    .max(limits.maxTimestamp, 'must be before the year 10000.'),
  /** A secret that the caller chooses, or null; `resolveSecret` checks its characters. */
  secret: z
    .string('must be a string.')
    .max(limits.maxSecretLength, `must have at most ${limits.maxSecretLength} characters.`)
    .meta({ pattern: '^[!-~]{32,256}$' })
    .nullable(),
  boolean: z.boolean('must be true or false.'),
  oneOf: <Value extends string>(values: readonly Value[]) =>
    z.enum(values, `must be ${values.length <= 2 ? values.join(' or ') : `one of ${values.join(', ')}`}.`),
}

/**
 * Merges the metadata of a PATCH into the current metadata (docs/contract.md#common-field-rules).
 * @throws invalid_request when the result has too many keys or is too large
 */
export const checkMergedMetadata = (current: unknown, patch: JsonObject): JsonObject =>
  checkInput(fieldSchemas.metadata, mergeMetadata(current, patch), ['metadata'])

/** Returns true for an absolute http or https URL without credentials, spaces, control characters or backslashes. */
export function isWebUrl(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression rejects control characters
  if (/[\u0000-\u0020\u007f\\]/.test(text) || !URL.canParse(text)) return false
  const url = new URL(text)
  return (url.protocol === 'https:' || url.protocol === 'http:') && url.username === '' && url.password === ''
}
