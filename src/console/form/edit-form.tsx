/**
 * Edits a thing that is there: sends what has changed under the version that was read, and when somebody else was faster
 * shows both.
 */
import { Button, Group } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import { Fault } from '../graphql/fault'
import { Card } from '../parts/card'
import { ConflictDialog } from './conflict'
import { changed, type Field, inputOf } from './fields'
import { FormFields } from './form-fields'
import { useForm } from './use-form'

interface Versioned {
  id: string
  updatedAt: number
}

interface Props<Input, Thing extends Versioned> {
  title: string
  text?: ReactNode
  fields: readonly Field<Input>[]
  thing: Thing
  /** May the caller change it? Else the fields can be read only. */
  editable: boolean
  save: (input: Input, ifMatch: string) => Promise<unknown>
  /** The thing as it is now, past the cache. */
  reload: () => Promise<Thing>
  /** Beside the fields: a preview of what is typed. */
  aside?: (values: Record<string, unknown>) => ReactNode
}

export const versionOf = ({ updatedAt }: Versioned): string => `"${updatedAt}"`

export function EditForm<Input, Thing extends Versioned>(props: Props<Input, Thing>) {
  const { title, text, fields, thing, editable, save, reload, aside } = props
  const form = useForm(fields, thing)
  /** What the values in the form were made from: the version that a change is meant for. */
  const [base, setBase] = useState(thing)
  const [theirs, setTheirs] = useState<Thing>()

  // News of the thing are taken over while nobody is typing; what somebody typed is not thrown away.
  useEffect(() => {
    if (thing.updatedAt === base.updatedAt || form.dirty || form.busy) return
    setBase(thing)
    form.reset(thing)
  }, [thing, base, form])

  const send = (version: Thing) =>
    form.submit(async () => {
      const edits = changed(fields, form.before, form.values)
      try {
        await save(inputOf(edits, form.values, false), versionOf(version))
      } catch (fault) {
        if (!(fault instanceof Fault) || fault.code !== 'PRECONDITION_FAILED') throw fault
        setTheirs(await reload())
        return
      }
      setTheirs(undefined)
      const now = await reload()
      setBase(now)
      form.reset(now)
    })

  const takeTheirs = () => {
    if (!theirs) return
    setBase(theirs)
    form.reset(theirs)
    setTheirs(undefined)
  }

  return (
    <Card title={title} text={text}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void send(base)
        }}
        noValidate
      >
        {aside ? (
          <div className="gh-beside">
            <FormFields form={form} disabled={!editable} />
            {aside(form.values)}
          </div>
        ) : (
          <div className="gh-fields">
            <FormFields form={form} disabled={!editable} />
          </div>
        )}
        {editable && (
          <Group gap="xs" justify="flex-end" className="gh-form-foot">
            {form.dirty && (
              <Button variant="default" onClick={() => form.reset(base)} disabled={form.busy}>
                Discard
              </Button>
            )}
            <Button type="submit" disabled={!form.dirty} loading={form.busy}>
              Save changes
            </Button>
          </Group>
        )}
      </form>
      {theirs && (
        <ConflictDialog
          fields={fields}
          before={form.before}
          mine={form.values}
          theirs={theirs}
          busy={form.busy}
          onTakeTheirs={takeTheirs}
          onKeepMine={() => void send(theirs)}
          onClose={() => setTheirs(undefined)}
        />
      )}
    </Card>
  )
}
