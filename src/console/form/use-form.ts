import { useCallback, useState } from 'react'
import { RequestError } from '../graphql/request-error'
import { assignFieldErrors, changedFields, type Field, type FormValues, initialValues, validateFields } from './fields'

export interface Form<Input> {
  fields: readonly Field<Input>[]
  values: FormValues
  savedValues: FormValues
  errors: Record<string, string>
  /** Error of the form as a whole. */
  formError: string | undefined
  busy: boolean
  dirty: boolean
  setValue(path: string, value: unknown): void
  /** Replaces all values with those of a resource and clears the errors. */
  reset(source: unknown): void
  /** Shows the messages of a RequestError next to their fields or above the form; rethrows other errors. */
  showError(error: unknown): void
  /**
   * Validates the values, runs `send` and shows errors.
   * @returns true if `send` succeeded
   * @throws errors of `send` other than a RequestError
   */
  submit(send: () => Promise<void>): Promise<boolean>
}

/** The state of a form for a table of fields. */
export function useForm<Input>(fields: readonly Field<Input>[], source: unknown): Form<Input> {
  const [savedValues, setSavedValues] = useState<FormValues>(() => initialValues(fields, source))
  const [values, setValues] = useState<FormValues>(savedValues)
  const [errors, setErrors] = useState<Record<string, string>>({})
  const [formError, setFormError] = useState<string>()
  const [busy, setBusy] = useState(false)

  const setValue = useCallback((path: string, value: unknown) => {
    setValues((now) => ({ ...now, [path]: value }))
    setErrors(({ [path]: _, ...others }) => others)
  }, [])

  const reset = useCallback(
    (next: unknown) => {
      const initial = initialValues(fields, next)
      setSavedValues(initial)
      setValues(initial)
      setErrors({})
      setFormError(undefined)
    },
    [fields],
  )

  const showError = (error: unknown) => {
    if (!(error instanceof RequestError)) throw error
    const assigned = assignFieldErrors(fields, error.details)
    setErrors(assigned.fieldErrors)
    const hasNoFieldErrors = Object.keys(assigned.fieldErrors).length === 0
    setFormError(
      assigned.otherMessages.length > 0
        ? assigned.otherMessages.join(' ')
        : hasNoFieldErrors
          ? error.message
          : undefined,
    )
    focusField(Object.keys(assigned.fieldErrors)[0])
  }

  const submit = async (send: () => Promise<void>): Promise<boolean> => {
    const invalid = validateFields(fields, values)
    setErrors(invalid)
    setFormError(undefined)
    if (Object.keys(invalid).length > 0) {
      focusField(Object.keys(invalid)[0])
      return false
    }
    setBusy(true)
    try {
      await send()
      return true
    } catch (error) {
      showError(error)
      return false
    } finally {
      setBusy(false)
    }
  }

  const dirty = changedFields(fields, savedValues, values).length > 0
  return { fields, values, savedValues, errors, formError, busy, dirty, setValue, reset, showError, submit }
}

/** Moves the focus to a field, for example to one with an error. */
export function focusField(path: string | undefined): void {
  if (path === undefined) return
  requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-field="${CSS.escape(path)}"]`)?.focus())
}
