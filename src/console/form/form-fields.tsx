import { Alert, Stack } from '@mantine/core'
import { FieldFindings } from '../health/findings'
import { Icon } from '../parts/icon'
import { FieldInput } from './inputs'
import type { Form } from './use-form'

interface Props<Input> {
  form: Form<Input>
  disabled?: boolean
  /** The cursor begins in the first field; for dialogues. */
  autoFocus?: boolean
}

/** The fields of a form, one below the other, and what is wrong with it as a whole. */
export function FormFields<Input>({ form, disabled = false, autoFocus = false }: Props<Input>) {
  return (
    <Stack gap="md">
      {form.trouble && (
        <Alert color="red" variant="light" icon={<Icon name="warning" />} role="alert">
          {form.trouble}
        </Alert>
      )}
      {form.fields
        .filter((field) => !field.when || field.when(form.values))
        .map((field, at) => (
          <div key={field.path}>
            <FieldInput
              field={field}
              autoFocus={autoFocus && at === 0}
              value={form.values[field.path]}
              fault={form.faults[field.path]}
              disabled={disabled || form.busy}
              onChange={(value) => form.set(field.path, value)}
            />
            <FieldFindings path={field.path} />
          </div>
        ))}
    </Stack>
  )
}
