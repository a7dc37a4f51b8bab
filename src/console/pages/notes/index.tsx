/** All notes of an account: routes, list, and the page of a note. */
import { Group } from '@mantine/core'
import { deleteNote, note as noteQuery, notes, updateNote } from 'documents/notes'
import type { NoteFieldsFragment, UpdateNoteInput } from 'documents/types'
import { Route, Switch, useLocation } from 'wouter'
import { Card } from '../../components/card'
import { DangerZone } from '../../components/confirm-dialog'
import { Icon } from '../../components/icon'
import { LinkButton } from '../../components/link'
import { Page } from '../../components/page'
import { ErrorState, PageLoading } from '../../components/states'
import { RelativeTime } from '../../components/values'
import { accountHref, useConsoleContext } from '../../console-context'
import { EditForm, etagOf } from '../../form/edit-form'
import type { Field } from '../../form/fields'
import { useMutation, useQuery, useRefetch } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { NameCell } from '../../list/list-table'
import { useCurrentUser } from '../../shell/console-session'
import { plainText } from './markdown-parser'
import { NoteCard } from './note-card'
import { authorLabel, referenceHref, referenceTypes } from './note-references'

export default function AllNotes() {
  return (
    <Switch>
      <Route path="/accounts/:accountId/notes/:noteId">
        {({ noteId }) => <NotePage key={noteId} noteId={noteId!} />}
      </Route>
      <Route>{() => <NoteList />}</Route>
    </Switch>
  )
}

const subjectTypes = ['user', 'org', 'client', 'issuer'] as const
const subjectName = ({ subjectType, subjectId }: NoteFieldsFragment) =>
  `${referenceTypes[subjectType].label} …${subjectId.slice(-6)}`

function NoteList() {
  const { accountId } = useConsoleContext()
  const currentUser = useCurrentUser()
  return (
    <Page title="Notes" lead="Internal notes about users, organizations, clients and issuers. Pinned notes come first.">
      <List
        label="Notes"
        query={notes}
        variables={{ accountId }}
        page={(data) => data.notes}
        typename="Note"
        search={{ name: 'search', placeholder: 'Search by first words or ID' }}
        href={({ id }) => `${accountHref(accountId)}/notes/${id}`}
        filters={[
          {
            name: 'subjectType',
            label: 'Any subject',
            options: subjectTypes.map((value) => ({
              value,
              label: `About ${referenceTypes[value].label.toLowerCase()}s`,
            })),
          },
          {
            name: 'pinned',
            label: 'Pinned or not',
            boolean: true,
            options: [
              { value: 'true', label: 'Pinned' },
              { value: 'false', label: 'Not pinned' },
            ],
          },
          ...(currentUser
            ? [
                {
                  name: 'mentionsUserId',
                  label: 'Any mentions',
                  options: [{ value: currentUser.id, label: 'Mentions me' }],
                },
              ]
            : []),
        ]}
        columns={[
          {
            header: 'Note',
            cell: (note) => (
              <NameCell
                mark={<Icon name={referenceTypes[note.subjectType].icon} />}
                name={plainText(note.content)}
                text={`${subjectName(note)}${note.pinned ? ' · pinned' : ''}`}
              />
            ),
          },
          {
            header: 'Author',
            width: '160px',
            hideOnMobile: true,
            cell: ({ createdBy }) => authorLabel(createdBy, currentUser?.id),
          },
          { header: 'Created', width: '130px', cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
        ]}
        empty={{
          icon: 'note',
          title: 'No notes yet',
          text: 'To add a note, open a user, organization, client or issuer and select Notes.',
        }}
      />
    </Page>
  )
}

const noteFields: Field<UpdateNoteInput>[] = [
  {
    kind: 'textarea',
    path: 'content',
    label: 'Text',
    hint: 'Markdown. @[Name](user ID) mentions a user. [[type:ID|Name]] links to a resource, for example [[org:ID|Name]] to an organization.',
    required: true,
  },
  { kind: 'toggle', path: 'pinned', label: 'Pin to the top' },
]

function NotePage({ noteId }: { noteId: string }) {
  const { accountId, may } = useConsoleContext()
  const [, navigate] = useLocation()
  const mutate = useMutation()
  const fetchLatest = useRefetch()
  const ids = { accountId, noteId }
  const { data, error, loading, refetch } = useQuery(noteQuery, ids)
  if (loading) return <PageLoading />
  if (error || !data) return <ErrorState error={error!} onRetry={refetch} />
  const { note } = data
  const listHref = `${accountHref(accountId)}/notes`
  const subject = referenceHref({ accountId, issuerId: note.issuerId ?? '' }, note.subjectType, note.subjectId)
  const remove = async () => {
    await mutate(deleteNote, { ...ids, ifMatch: etagOf(note) }, { successMessage: 'Note deleted', typenames: ['Note'] })
    navigate(listHref)
  }
  return (
    <Page
      title="Note"
      crumbs={[{ label: 'Notes', href: listHref }]}
      actions={
        subject && (
          <Group gap="xs">
            <LinkButton
              href={note.subjectType === 'issuer' ? `${subject}/settings/notes` : `${subject}/notes`}
              variant="default"
              leftSection={<Icon name={referenceTypes[note.subjectType].icon} />}
            >
              {subjectName(note)}
            </LinkButton>
          </Group>
        )
      }
    >
      <Card flush>
        <NoteCard note={note} showSubject />
      </Card>
      {may('updateNote') && (
        <EditForm
          title="Edit note"
          fields={noteFields}
          resource={note}
          editable
          save={(input, ifMatch) => mutate(updateNote, { ...ids, input, ifMatch }, { successMessage: 'Note saved' })}
          reload={async () => (await fetchLatest(noteQuery, ids)).note}
        />
      )}
      {may('deleteNote') && (
        <DangerZone
          actions={[
            {
              title: 'Delete this note',
              text: 'Deletes the note for all administrators, also on the pages of users and resources that it mentions.',
              label: 'Delete note',
              warning: 'This cannot be undone.',
              onConfirm: remove,
            },
          ]}
        />
      )}
    </Page>
  )
}
