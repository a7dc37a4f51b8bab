/** Somebody else was faster (412): both versions, side by side, and the choice between them. */
import { Button, Group, Modal, Text } from '@mantine/core'
import { Moment } from '../parts/values'
import classes from './conflict.module.css'
import { type Field, initialValue, type Values } from './fields'

interface Props<Input> {
  fields: readonly Field<Input>[]
  before: Values
  mine: Values
  theirs: { updatedAt: number }
  busy: boolean
  onTakeTheirs: () => void
  onKeepMine: () => void
  onClose: () => void
}

export function ConflictDialog<Input>(props: Props<Input>) {
  const { fields, before, mine, theirs, busy, onTakeTheirs, onKeepMine, onClose } = props
  const rows = fields.flatMap((field) => {
    const versions = [before[field.path], initialValue(field, theirs), mine[field.path]]
    const [was, now, wish] = versions.map((value) => shown(field.kind === 'moment' ? momentText(value) : value))
    return now === was && wish === was ? [] : [{ field, now: now!, wish: wish!, both: now !== was && wish !== was }]
  })
  return (
    <Modal opened onClose={onClose} size="xl" title="Changed by someone else">
      <Text size="sm" c="dimmed" mb="md">
        Somebody saved this <Moment at={theirs.updatedAt} />, after you had opened it. Nothing of yours is lost yet:
        choose what is to stand.
      </Text>
      <div className={classes.scroll}>
        <table className={classes.table}>
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">As it is now</th>
              <th scope="col">Yours</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ field, now, wish, both }) => (
              <tr key={field.path} data-both={both || undefined}>
                <th scope="row">{field.label}</th>
                <td>{now}</td>
                <td>{wish}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Group justify="flex-end" mt="lg" gap="xs">
        <Button variant="default" onClick={onTakeTheirs} disabled={busy}>
          Discard mine
        </Button>
        <Button onClick={onKeepMine} loading={busy}>
          Save mine over it
        </Button>
      </Group>
    </Modal>
  )
}

function shown(value: unknown): string {
  if (value === '' || (Array.isArray(value) && value.length === 0)) return '–'
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  return Array.isArray(value) ? value.map(entryText).join('\n') : String(value)
}

/** A text, or what an object holds. */
const entryText = (entry: unknown): string =>
  typeof entry === 'object' && entry !== null ? Object.values(entry).join(' ') : String(entry)

const momentText = (at: unknown): unknown => (typeof at === 'number' ? new Date(at).toLocaleString('en') : at)
