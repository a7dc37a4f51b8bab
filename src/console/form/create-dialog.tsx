/** A dialog with a form, for example to create a resource. */
import { Button, Group, Modal } from '@mantine/core'
import type { ReactNode } from 'react'
import { buildInput, type Field } from './fields'
import { FormFields } from './form-fields'
import { useForm } from './use-form'

interface Props<Input> {
  title: string
  fields: readonly Field<Input>[]
  /** Initial values, by the names of the input fields. */
  initial?: { readonly [Name in keyof NoInfer<Input>]?: unknown } | undefined
  submitLabel: string
  /** Sends the input. If it throws a RequestError, the dialog shows the error at its field or above the form. */
  create: (input: Input, values: Record<string, unknown>) => Promise<void>
  onClose: () => void
  children?: ReactNode
}

export function CreateDialog<Input>({ title, fields, initial, submitLabel, create, onClose, children }: Props<Input>) {
  const form = useForm(fields, initial ?? {})
  const submitForm = () => form.submit(() => create(buildInput(fields, form.values, undefined), form.values))
  return (
    <Modal opened onClose={onClose} title={title} size="lg">
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          void submitForm()
        }}
      >
        {children}
        <FormFields form={form} autoFocus />
        <Group justify="flex-end" mt="lg" gap="xs">
          <Button variant="default" onClick={onClose} disabled={form.busy}>
            Cancel
          </Button>
          <Button type="submit" loading={form.busy}>
            {submitLabel}
          </Button>
        </Group>
      </form>
    </Modal>
  )
}
