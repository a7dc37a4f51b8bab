import { Alert, Stack } from '@mantine/core'
import { Icon } from '../components/icon'
import { FieldFindings } from '../health/findings'
import { isFieldVisible } from './fields'
import { FieldInput } from './inputs'
import type { Form } from './use-form'

interface Props<Input> {
  form: Form<Input>
  disabled?: boolean
  /** Focuses the first field when a dialog opens. */
  autoFocus?: boolean
}

/** The error of the form as a whole, and the fields below it. */
export function FormFields<Input>({ form, disabled = false, autoFocus = false }: Props<Input>) {
  return (
    <Stack gap="md">
      {form.formError && (
        <Alert color="red" variant="light" icon={<Icon name="warning" />} role="alert">
          {form.formError}
        </Alert>
      )}
      {form.fields
        .filter((field) => isFieldVisible(field, form.values))
        .map((field, at) => (
          <div key={field.path}>
            <FieldInput
              field={field}
              autoFocus={autoFocus && at === 0}
              value={form.values[field.path]}
              error={form.errors[field.path]}
              disabled={disabled || form.busy}
              onChange={(value) => form.setValue(field.path, value)}
            />
            <FieldFindings path={field.path} />
          </div>
        ))}
    </Stack>
  )
}
