/**
 * A form that edits a resource: passes the changed fields and an ETag to `save`, and opens the conflict dialog on 412.
 */
import { Button, Group } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import { Card } from '../components/card'
import { RequestError } from '../graphql/request-error'
import { ConflictDialog } from './conflict-dialog'
import { buildInput, changedFields, type Field, type FieldPath } from './fields'
import { FormFields } from './form-fields'
import { focusField, useForm } from './use-form'

interface Versioned {
  id: string
  updatedAt: number
}

interface Props<Input, Resource extends Versioned> {
  title: string
  text?: ReactNode
  fields: readonly Field<Input>[]
  resource: Resource
  /** True if the caller may update the resource; otherwise the fields are read-only. */
  editable: boolean
  save: (input: Input, ifMatch: string) => Promise<unknown>
  /** Reads the resource from the server, bypassing the cache. */
  reload: () => Promise<Resource>
  /** Asks the user before the input is saved. If it returns false, nothing is saved. */
  confirm?: (input: Input) => Promise<boolean>
  /** An unsaved change with which the form opens, such as an added entry of a list. */
  prefill?: { path: FieldPath<Input>; value: unknown } | undefined
  /** Content beside the fields, such as a preview of their values. */
  aside?: (values: Record<string, unknown>) => ReactNode
}

export const etagOf = ({ updatedAt }: Versioned): string => `"${updatedAt}"`

export function EditForm<Input, Resource extends Versioned>(props: Props<Input, Resource>) {
  const { title, text, fields, resource, editable, save, reload, confirm, prefill, aside } = props
  const form = useForm(fields, resource)
  /** The version of the resource from which the form was loaded. Its ETag is passed to the first `save`. */
  const [baseVersion, setBaseVersion] = useState(resource)
  const [serverVersion, setServerVersion] = useState<Resource>()

  // Only the first value counts, so that the change is not repeated after it was saved or discarded.
  const [initialPrefill] = useState(prefill)
  const { setValue } = form
  useEffect(() => {
    if (!initialPrefill) return
    setValue(initialPrefill.path, initialPrefill.value)
    focusField(initialPrefill.path)
  }, [initialPrefill, setValue])

  // A newer version of the resource replaces the values of the form, unless the form has unsaved changes or is busy.
  useEffect(() => {
    if (resource.updatedAt === baseVersion.updatedAt || form.dirty || form.busy) return
    setBaseVersion(resource)
    form.reset(resource)
  }, [resource, baseVersion, form])

  const submit = (version: Resource) =>
    form.submit(async () => {
      const changes = changedFields(fields, form.savedValues, form.values)
      const input = buildInput(changes, form.values, form.savedValues)
      if (confirm && !(await confirm(input))) return
      try {
        await save(input, etagOf(version))
      } catch (error) {
        if (!(error instanceof RequestError) || error.code !== 'PRECONDITION_FAILED') throw error
        setServerVersion(await reload())
        return
      }
      setServerVersion(undefined)
      const saved = await reload()
      setBaseVersion(saved)
      form.reset(saved)
    })

  const discardLocalChanges = () => {
    if (!serverVersion) return
    setBaseVersion(serverVersion)
    form.reset(serverVersion)
    setServerVersion(undefined)
  }

  return (
    <Card title={title} text={text}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void submit(baseVersion)
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
              <Button variant="default" onClick={() => form.reset(baseVersion)} disabled={form.busy}>
                Discard changes
              </Button>
            )}
            <Button type="submit" disabled={!form.dirty} loading={form.busy}>
              Save changes
            </Button>
          </Group>
        )}
      </form>
      {serverVersion && (
        <ConflictDialog
          fields={fields}
          savedValues={form.savedValues}
          localValues={form.values}
          serverVersion={serverVersion}
          busy={form.busy}
          onDiscard={discardLocalChanges}
          onOverwrite={() => void submit(serverVersion)}
          onClose={() => setServerVersion(undefined)}
        />
      )}
    </Card>
  )
}
