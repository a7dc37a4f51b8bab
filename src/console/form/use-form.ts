import { useCallback, useState } from 'react'
import { Fault } from '../graphql/fault'
import { changed, type Field, faultsIn, initialValues, placeFaults, type Values } from './fields'

export interface Form<Input> {
  fields: readonly Field<Input>[]
  values: Values
  before: Values
  faults: Record<string, string>
  /** About the form as a whole. */
  trouble: string | undefined
  busy: boolean
  dirty: boolean
  set(path: string, value: unknown): void
  /** Begins again from a thing as it is now. */
  reset(source: unknown): void
  /** Shows a fault where it belongs. */
  show(fault: unknown): void
  /** Runs `send` with what was typed, unless that cannot be right; faults are shown. @returns did it work? */
  submit(send: () => Promise<void>): Promise<boolean>
}

/** The state of a form over a table of fields. */
export function useForm<Input>(fields: readonly Field<Input>[], source: unknown): Form<Input> {
  const [before, setBefore] = useState<Values>(() => initialValues(fields, source))
  const [values, setValues] = useState<Values>(before)
  const [faults, setFaults] = useState<Record<string, string>>({})
  const [trouble, setTrouble] = useState<string>()
  const [busy, setBusy] = useState(false)

  const set = useCallback((path: string, value: unknown) => {
    setValues((now) => ({ ...now, [path]: value }))
    setFaults(({ [path]: _, ...others }) => others)
  }, [])

  const reset = useCallback(
    (next: unknown) => {
      const fresh = initialValues(fields, next)
      setBefore(fresh)
      setValues(fresh)
      setFaults({})
      setTrouble(undefined)
    },
    [fields],
  )

  const show = (fault: unknown) => {
    if (!(fault instanceof Fault)) throw fault
    const placed = placeFaults(fields, fault.details)
    setFaults(placed.faults)
    const none = Object.keys(placed.faults).length === 0
    setTrouble(placed.rest.length > 0 ? placed.rest.join(' ') : none ? fault.message : undefined)
    focusFirst(Object.keys(placed.faults)[0])
  }

  const submit = async (send: () => Promise<void>): Promise<boolean> => {
    const found = faultsIn(fields, values)
    setFaults(found)
    setTrouble(undefined)
    if (Object.keys(found).length > 0) {
      focusFirst(Object.keys(found)[0])
      return false
    }
    setBusy(true)
    try {
      await send()
      return true
    } catch (fault) {
      show(fault)
      return false
    } finally {
      setBusy(false)
    }
  }

  const dirty = changed(fields, before, values).length > 0
  return { fields, values, before, faults, trouble, busy, dirty, set, reset, show, submit }
}

/** The cursor goes to where something has to be done. */
function focusFirst(path: string | undefined): void {
  if (path === undefined) return
  requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-field="${CSS.escape(path)}"]`)?.focus())
}
