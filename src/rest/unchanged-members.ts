/**
 * A PATCH accepts what a GET of the resource has returned, as far as it is unchanged
 * (docs/contract.md#request-bodies). So a client can read a resource, change a member and send the whole resource.
 */
import { canonicalJson } from '../kernel/canonical-json.js'
import { ApiError, invalidFields } from '../kernel/errors.js'

type Members = Record<string, unknown>

/**
 * Runs a PATCH. If its body is invalid, runs it again without the members that are equal to those of the current
 * resource. The resource is read only then, so a valid PATCH needs no additional query.
 * @param readCurrent returns the resource; throws precondition_failed if it does not have the version in If-Match. If it
 *   fails otherwise, the error of `run` is thrown
 * @throws the errors of `run`; a field that can be read but not set has the code `read_only`
 */
export async function ignoringUnchanged<Result>(
  body: Members,
  readCurrent: () => Promise<Members>,
  run: (body: Members) => Promise<Result>,
): Promise<Result> {
  try {
    return await run(body)
  } catch (error) {
    // Without one of two members with the same name, the other one would be valid.
    if (!hasDetails(error) || error.options.details!.some(({ code }) => code === 'repeated')) throw error
    const current = await readCurrent().catch((second: unknown) => {
      if (second instanceof ApiError && second.code === 'precondition_failed') throw second
      return undefined
    })
    if (!current) throw error
    const changed = changedMembers(body, current)
    if (Object.keys(changed).length === Object.keys(body).length) throw withReadOnlyFields(error, current)
    return run(changed).catch((second: unknown) => {
      throw withReadOnlyFields(second, current)
    })
  }
}

const hasDetails = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.code === 'invalid_request' && error.options.details !== undefined

const changedMembers = (body: Members, current: Members): Members =>
  Object.fromEntries(
    Object.entries(body).filter(
      ([name, value]) => !Object.hasOwn(current, name) || canonicalJson(value) !== canonicalJson(current[name]),
    ),
  )

/** Marks the unknown fields of an error that the resource has. Returns any other error unchanged. */
function withReadOnlyFields(error: unknown, current: Members): unknown {
  if (!hasDetails(error)) return error
  return invalidFields(
    error.options.details!.map((detail) =>
      detail.code === 'unknown_field' && Object.hasOwn(current, detail.field)
        ? { ...detail, code: 'read_only', message: 'is read-only and differs from the current value.' }
        : detail,
    ),
  )
}
