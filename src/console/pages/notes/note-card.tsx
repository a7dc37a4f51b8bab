/** A note, in a list of notes and on its own page. */
import { ActionIcon, Badge, Group, Menu, Text } from '@mantine/core'
import { deleteNote, updateNote } from 'documents/notes'
import type { NoteFieldsFragment } from 'documents/types'
import { lazy, Suspense, useState } from 'react'
import { useLocation } from 'wouter'
import { ConfirmDialog } from '../../components/confirm-dialog'
import { Icon } from '../../components/icon'
import { TextLink } from '../../components/link'
import { RelativeTime } from '../../components/values'
import { accountHref, useConsoleContext } from '../../console-context'
import { etagOf } from '../../form/edit-form'
import { showError, useMutation } from '../../graphql/hooks'
import { useCurrentUser } from '../../shell/console-session'
import { NoteReference } from './note-reference'
import { authorLabel, referenceTypes } from './note-references'
import classes from './notes.module.css'

const Markdown = lazy(() => import('./markdown'))

export const noteHref = ({ accountId, id }: NoteFieldsFragment): string => `${accountHref(accountId)}/notes/${id}`

/** @param showSubject true to show the resource that the note is about */
export function NoteCard({ note, showSubject = false }: { note: NoteFieldsFragment; showSubject?: boolean }) {
  const { accountId, issuerId, may } = useConsoleContext()
  const currentUser = useCurrentUser()
  const mutate = useMutation()
  const [, navigate] = useLocation()
  const [removing, setRemoving] = useState(false)
  const variables = { accountId, noteId: note.id, ifMatch: etagOf(note) }
  const context = { accountId, issuerId: note.issuerId ?? issuerId }
  const author = authorLabel(note.createdBy, currentUser?.id)
  const pin = () =>
    mutate(
      updateNote,
      { ...variables, input: { pinned: !note.pinned } },
      { successMessage: note.pinned ? 'Note unpinned' : 'Note pinned' },
    ).catch(showError)
  return (
    <article className={classes.note} data-pinned={note.pinned || undefined} aria-label={`Note by ${author}`}>
      <Group gap={8} wrap="nowrap" align="center">
        <Text fw={550} size="sm">
          {author}
        </Text>
        <TextLink href={noteHref(note)} c="dimmed" size="xs" underline="hover">
          <RelativeTime at={note.createdAt} />
        </TextLink>
        {note.updatedAt > note.createdAt && (
          <Text c="dimmed" size="xs">
            edited
          </Text>
        )}
        {note.pinned && (
          <Badge variant="light" size="sm" tt="none">
            Pinned
          </Badge>
        )}
        {(may('updateNote') || may('deleteNote')) && (
          <Menu position="bottom-end">
            <Menu.Target>
              <ActionIcon variant="subtle" color="gray" ml="auto" aria-label={`Note by ${author}: menu`}>
                <Icon name="chevronDown" />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              {may('updateNote') && (
                <>
                  <Menu.Item onClick={() => void pin()}>{note.pinned ? 'Unpin' : 'Pin to the top'}</Menu.Item>
                  <Menu.Item onClick={() => navigate(noteHref(note))}>Edit …</Menu.Item>
                </>
              )}
              {may('deleteNote') && (
                <Menu.Item color="red" leftSection={<Icon name="trash" />} onClick={() => setRemoving(true)}>
                  Delete …
                </Menu.Item>
              )}
            </Menu.Dropdown>
          </Menu>
        )}
      </Group>
      {showSubject && (
        <Text size="xs" c="dimmed" component="div" mt={4}>
          About{' '}
          <NoteReference
            context={context}
            type={note.subjectType}
            id={note.subjectId}
            text={`${referenceTypes[note.subjectType].label} …${note.subjectId.slice(-6)}`}
            withIcon
          />
        </Text>
      )}
      <Suspense fallback={<div className={classes.body}>{note.content}</div>}>
        <Markdown content={note.content} context={context} />
      </Suspense>
      {removing && (
        <ConfirmDialog
          title="Delete this note"
          label="Delete"
          onConfirm={() => mutate(deleteNote, variables, { successMessage: 'Note deleted', typenames: ['Note'] })}
          onClose={() => setRemoving(false)}
        >
          The note will be deleted for all administrators, also on the pages of users and resources that it mentions.
          This cannot be undone.
        </ConfirmDialog>
      )}
    </article>
  )
}
