/** One note as it stands among others. */
import { ActionIcon, Badge, Group, Menu, Text } from '@mantine/core'
import { deleteNote, updateNote } from 'documents/notes'
import type { NoteFieldsFragment } from 'documents/types'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { versionOf } from '../../form/edit-form'
import { tellFault, useRun } from '../../graphql/hooks'
import { Confirm } from '../../parts/confirm'
import { Icon } from '../../parts/icon'
import { TextLink } from '../../parts/link'
import { Moment } from '../../parts/values'
import { accountHref, usePlace } from '../../place'
import { usePerson } from '../../shell/person'
import { authorOf, kinds } from './links'
import { Markdown, Thing } from './markdown'
import classes from './notes.module.css'

export const noteHref = ({ accountId, id }: NoteFieldsFragment): string => `${accountHref(accountId)}/notes/${id}`

/** @param withSubject where notes about several things stand together */
export function NoteCard({ note, withSubject = false }: { note: NoteFieldsFragment; withSubject?: boolean }) {
  const { accountId, issuerId, may } = usePlace()
  const person = usePerson()
  const run = useRun()
  const [, navigate] = useLocation()
  const [removing, setRemoving] = useState(false)
  const at = { accountId, noteId: note.id, ifMatch: versionOf(note) }
  const place = { accountId, issuerId: note.issuerId ?? issuerId }
  const author = authorOf(note.createdBy, person?.id)
  const pin = () =>
    run(
      updateNote,
      { ...at, input: { pinned: !note.pinned } },
      { done: note.pinned ? 'No longer pinned' : 'Pinned' },
    ).catch(tellFault)
  return (
    <article className={classes.note} data-pinned={note.pinned || undefined} aria-label={`Note by ${author}`}>
      <Group gap={8} wrap="nowrap" align="center">
        <Text fw={550} size="sm">
          {author}
        </Text>
        <TextLink href={noteHref(note)} c="dimmed" size="xs" underline="hover">
          <Moment at={note.createdAt} />
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
      {withSubject && (
        <Text size="xs" c="dimmed" component="div" mt={4}>
          About{' '}
          <Thing
            place={place}
            type={note.subjectType}
            id={note.subjectId}
            text={`${kinds[note.subjectType].label} …${note.subjectId.slice(-6)}`}
            withIcon
          />
        </Text>
      )}
      <Markdown content={note.content} place={place} />
      {removing && (
        <Confirm
          title="Delete this note"
          label="Delete"
          run={() => run(deleteNote, at, { done: 'Note deleted', typenames: ['Note'] })}
          onClose={() => setRemoving(false)}
        >
          It is gone for everybody, with the mentions and references in it.
        </Confirm>
      )}
    </article>
  )
}
