/** Makes a new thing: the few fields that it needs, and off to its page. */
import { Button, Group, Modal } from '@mantine/core'
import type { ReactNode } from 'react'
import { type Field, inputOf } from './fields'
import { FormFields } from './form-fields'
import { useForm } from './use-form'

interface Props<Input> {
  title: string
  fields: readonly Field<Input>[]
  /** What the fields begin with. */
  initial?: object
  submit: string
  /** Throws a Fault, which is shown at its field. */
  create: (input: Input, values: Record<string, unknown>) => Promise<void>
  onClose: () => void
  children?: ReactNode
}

export function CreateDialog<Input>({ title, fields, initial, submit, create, onClose, children }: Props<Input>) {
  const form = useForm(fields, initial ?? {})
  const send = () => form.submit(() => create(inputOf(fields, form.values, true), form.values))
  return (
    <Modal opened onClose={onClose} title={title} size="lg">
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          void send()
        }}
      >
        {children}
        <FormFields form={form} autoFocus />
        <Group justify="flex-end" mt="lg" gap="xs">
          <Button variant="default" onClick={onClose} disabled={form.busy}>
            Cancel
          </Button>
          <Button type="submit" loading={form.busy}>
            {submit}
          </Button>
        </Group>
      </form>
    </Modal>
  )
}
