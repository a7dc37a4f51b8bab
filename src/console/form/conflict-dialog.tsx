/**
 * The dialog for a save that fails because the resource has changed since it was loaded (412): compares the version on
 * the server with the unsaved values, and lets the user discard the unsaved values or
 * overwrite the fields that the user changed.
 */
import { Button, Group, Modal, Text } from '@mantine/core'
import { RelativeTime } from '../components/values'
import classes from './conflict.module.css'
import { type Field, type FormValues, initialValue } from './fields'

interface Props<Input> {
  fields: readonly Field<Input>[]
  savedValues: FormValues
  localValues: FormValues
  serverVersion: { updatedAt: number }
  busy: boolean
  onDiscard: () => void
  onOverwrite: () => void
  onClose: () => void
}

export function ConflictDialog<Input>(props: Props<Input>) {
  const { fields, savedValues, localValues, serverVersion, busy, onDiscard, onOverwrite, onClose } = props
  const rows = fields.flatMap((field) => {
    const versions = [savedValues[field.path], initialValue(field, serverVersion), localValues[field.path]]
    const [savedValue, serverValue, localValue] = versions.map((value) =>
      formatValue(field.kind === 'datetime' ? formatTimestamp(value) : value),
    )
    return serverValue === savedValue && localValue === savedValue
      ? []
      : [
          {
            field,
            serverValue: serverValue!,
            localValue: localValue!,
            isConflicting: serverValue !== savedValue && localValue !== savedValue,
          },
        ]
  })
  return (
    <Modal opened onClose={onClose} size="xl" title="Changed by someone else">
      <Text size="sm" c="dimmed" mb="md">
        The saved values changed <RelativeTime at={serverVersion.updatedAt} />, after you opened this page. Your changes
        are not lost: choose which version to keep.
      </Text>
      <div className={classes.scroll}>
        <table className={classes.table}>
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">Current version</th>
              <th scope="col">Your version</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ field, serverValue, localValue, isConflicting }) => (
              <tr key={field.path} data-both={isConflicting || undefined}>
                <th scope="row">{field.label}</th>
                <td>{serverValue}</td>
                <td>{localValue}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Group justify="flex-end" mt="lg" gap="xs">
        <Button variant="default" onClick={onDiscard} disabled={busy}>
          Discard my changes
        </Button>
        <Button onClick={onOverwrite} loading={busy}>
          Overwrite with my changes
        </Button>
      </Group>
    </Modal>
  )
}

function formatValue(value: unknown): string {
  if (value === '' || (Array.isArray(value) && value.length === 0)) return '–'
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  return Array.isArray(value) ? value.map(formatEntry).join('\n') : String(value)
}

/** Returns a string unchanged, and the values of an object separated by spaces. */
const formatEntry = (entry: unknown): string =>
  typeof entry === 'object' && entry !== null ? Object.values(entry).join(' ') : String(entry)

const formatTimestamp = (at: unknown): unknown => (typeof at === 'number' ? new Date(at).toLocaleString('en') : at)
