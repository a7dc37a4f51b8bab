/**
 * The Notes tab of a resource: notes about the resource, and notes about other resources that mention or link to it.
 */
import { Button, Group, Stack, Switch, Text } from '@mantine/core'
import { createNote, noteBacklinks, notes } from 'documents/notes'
import type { NoteSubject } from 'documents/types'
import { useState } from 'react'
import { Card } from '../../components/card'
import { EmptyState, ErrorState, RowsLoading } from '../../components/states'
import { useConsoleContext } from '../../console-context'
import { useMutation, useQuery } from '../../graphql/hooks'
import type { RequestError } from '../../graphql/request-error'
import { Composer } from './composer'
import { NoteCard } from './note-card'

interface Props {
  type: NoteSubject
  id: string
  /** Display name of the resource. */
  name: string
}

const PAGE_SIZE = 20
const MAX_NOTES = 100

export function NotesPanel({ type, id, name }: Props) {
  const { accountId, may } = useConsoleContext()
  const [limit, setLimit] = useState(PAGE_SIZE)
  const { data, error, loading, refetch } = useQuery(
    notes,
    { accountId, subjectType: type, subjectId: id, limit },
    { typename: 'Note' },
  )
  const found = data?.notes
  return (
    <>
      {may('createNote') && <NewNote type={type} id={id} name={name} />}
      <Card title="Notes" flush>
        {error && !found ? (
          <ErrorState error={error} onRetry={refetch} />
        ) : loading || !found ? (
          <RowsLoading rows={3} />
        ) : found.data.length === 0 ? (
          <EmptyState icon="note" title="No notes yet">
            Notes are internal, for example about agreements and decisions. They are never shown to users.
          </EmptyState>
        ) : (
          found.data.map((note) => <NoteCard key={note.id} note={note} />)
        )}
        {found?.hasMore && limit < MAX_NOTES && (
          <Group justify="center" p="sm">
            <Button variant="default" size="xs" onClick={() => setLimit((now) => Math.min(now + PAGE_SIZE, MAX_NOTES))}>
              Show older notes
            </Button>
          </Group>
        )}
      </Card>
      {may('noteBacklinks') && <Backlinks type={type} id={id} />}
    </>
  )
}

/** Notes about other resources that mention this user or link to this resource. */
function Backlinks({ type, id }: Omit<Props, 'name'>) {
  const { accountId } = useConsoleContext()
  const backlinksQuery = useQuery(
    noteBacklinks,
    { accountId, refType: type, refId: id, limit: 50 },
    { typename: 'Note' },
  )
  const mentionsQuery = useQuery(
    notes,
    { accountId, mentionsUserId: id, limit: 50 },
    { typename: 'Note', pause: type !== 'user' },
  )
  const all = [...(backlinksQuery.data?.noteBacklinks.data ?? []), ...(mentionsQuery.data?.notes.data ?? [])]
  const others = all.filter(({ subjectId }) => subjectId !== id)
  const uniqueNotes = [...new Map(others.map((note) => [note.id, note])).values()].sort(
    (a, b) => b.createdAt - a.createdAt,
  )
  if (uniqueNotes.length === 0) return null
  return (
    <Card title="References" text="Notes about other resources that mention or link to this resource." flush>
      {uniqueNotes.map((note) => (
        <NoteCard key={note.id} note={note} showSubject />
      ))}
    </Card>
  )
}

function NewNote({ type, id, name }: Props) {
  const { accountId, issuerId } = useConsoleContext()
  const mutate = useMutation()
  const [content, setContent] = useState('')
  const [pinned, setPinned] = useState(false)
  const [errorMessage, setErrorMessage] = useState<string>()
  const [busy, setBusy] = useState(false)
  const send = async () => {
    if (content.trim() === '' || busy) return
    setBusy(true)
    setErrorMessage(undefined)
    const isInIssuer = type === 'user' || type === 'org'
    const input = { content, pinned, subjectType: type, subjectId: id, ...(isInIssuer && { issuerId }) }
    try {
      await mutate(createNote, { accountId, input }, { successMessage: 'Note added' })
      setContent('')
      setPinned(false)
    } catch (error) {
      setErrorMessage((error as RequestError).details[0]?.message ?? (error as RequestError).message)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Card>
      <Stack gap="sm">
        <Composer
          label={`New note about ${name}`}
          placeholder="Markdown. @ mentions a user, [[ links to another resource."
          value={content}
          error={errorMessage}
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
              Add note
            </Button>
          </Group>
        </Group>
      </Stack>
    </Card>
  )
}
