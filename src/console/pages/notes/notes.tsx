/** The notes about one thing, and those elsewhere that point to it: a tab for the page of any subject. */
import { Button, Group, Stack, Switch, Text } from '@mantine/core'
import { createNote, noteBacklinks, notes } from 'documents/notes'
import type { NoteSubject } from 'documents/types'
import { useState } from 'react'
import type { Fault } from '../../graphql/fault'
import { useAsk, useRun } from '../../graphql/hooks'
import { Card } from '../../parts/card'
import { EmptyState, FaultState, RowsLoading } from '../../parts/states'
import { usePlace } from '../../place'
import { Composer } from './composer'
import { NoteCard } from './note-card'

interface Props {
  type: NoteSubject
  id: string
  /** Of the subject, for people. */
  name: string
}

const PAGE = 20
const MOST = 100

export function Notes({ type, id, name }: Props) {
  const { accountId, may } = usePlace()
  const [limit, setLimit] = useState(PAGE)
  const { data, fault, loading, again } = useAsk(
    notes,
    { accountId, subjectType: type, subjectId: id, limit },
    { typename: 'Note' },
  )
  const found = data?.notes
  return (
    <>
      {may('createNote') && <NewNote type={type} id={id} name={name} />}
      <Card title="Notes" flush>
        {fault && !found ? (
          <FaultState fault={fault} again={again} />
        ) : loading || !found ? (
          <RowsLoading rows={3} />
        ) : found.data.length === 0 ? (
          <EmptyState icon="note" title="Nothing written yet">
            Notes are for your own people: what was agreed, why something is as it is. They are never shown to users.
          </EmptyState>
        ) : (
          found.data.map((note) => <NoteCard key={note.id} note={note} />)
        )}
        {found?.hasMore && limit < MOST && (
          <Group justify="center" p="sm">
            <Button variant="default" size="xs" onClick={() => setLimit((now) => Math.min(now + PAGE, MOST))}>
              Older notes
            </Button>
          </Group>
        )}
      </Card>
      {may('noteBacklinks') && <Backlinks type={type} id={id} />}
    </>
  )
}

/** Notes about other things that mention this user or refer to this thing. */
function Backlinks({ type, id }: Omit<Props, 'name'>) {
  const { accountId } = usePlace()
  const referring = useAsk(noteBacklinks, { accountId, refType: type, refId: id, limit: 50 }, { typename: 'Note' })
  const mentioning = useAsk(
    notes,
    { accountId, mentionsUserId: id, limit: 50 },
    { typename: 'Note', pause: type !== 'user' },
  )
  const all = [...(referring.data?.noteBacklinks.data ?? []), ...(mentioning.data?.notes.data ?? [])]
  const others = all.filter(({ subjectId }) => subjectId !== id)
  const each = [...new Map(others.map((note) => [note.id, note])).values()].sort((a, b) => b.createdAt - a.createdAt)
  if (each.length === 0) return null
  return (
    <Card title="Pointing here" text="Notes about other things." flush>
      {each.map((note) => (
        <NoteCard key={note.id} note={note} withSubject />
      ))}
    </Card>
  )
}

function NewNote({ type, id, name }: Props) {
  const { accountId, issuerId } = usePlace()
  const run = useRun()
  const [content, setContent] = useState('')
  const [pinned, setPinned] = useState(false)
  const [fault, setFault] = useState<string>()
  const [busy, setBusy] = useState(false)
  const send = async () => {
    if (content.trim() === '' || busy) return
    setBusy(true)
    setFault(undefined)
    const isInIssuer = type === 'user' || type === 'org'
    const input = { content, pinned, subjectType: type, subjectId: id, ...(isInIssuer && { issuerId }) }
    try {
      await run(createNote, { accountId, input }, { done: 'Note kept' })
      setContent('')
      setPinned(false)
    } catch (trouble) {
      setFault((trouble as Fault).details[0]?.message ?? (trouble as Fault).message)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Card>
      <Stack gap="sm">
        <Composer
          label={`New note about ${name}`}
          placeholder="Markdown. @ mentions somebody, [[ refers to something."
          value={content}
          error={fault}
          disabled={busy}
          onChange={setContent}
          onSend={() => void send()}
        />
        <Group justify="space-between">
          <Switch
            label="Pin to the top"
            checked={pinned}
            onChange={(event) => setPinned(event.currentTarget.checked)}
          />
          <Group gap="sm">
            <Text size="xs" c="dimmed" visibleFrom="sm">
              Ctrl Enter
            </Text>
            <Button onClick={() => void send()} disabled={content.trim() === ''} loading={busy}>
              Keep note
            </Button>
          </Group>
        </Group>
      </Stack>
    </Card>
  )
}
