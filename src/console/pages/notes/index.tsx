/** All notes of an account, whatever they are about; and one of them, to be read and edited. */
import { Group } from '@mantine/core'
import { deleteNote, note as noteQuery, notes, updateNote } from 'documents/notes'
import type { NoteFieldsFragment, UpdateNoteInput } from 'documents/types'
import { Route, Switch, useLocation } from 'wouter'
import { EditForm, versionOf } from '../../form/edit-form'
import type { Field } from '../../form/fields'
import { useAsk, useFresh, useRun } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Card } from '../../parts/card'
import { DangerZone } from '../../parts/confirm'
import { Icon } from '../../parts/icon'
import { LinkButton } from '../../parts/link'
import { Page } from '../../parts/page'
import { FaultState, PageLoading } from '../../parts/states'
import { Moment } from '../../parts/values'
import { accountHref, usePlace } from '../../place'
import { usePerson } from '../../shell/person'
import { authorOf, hrefOfThing, kinds, plainText } from './links'
import { NoteCard } from './note-card'

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

const subjects = ['user', 'org', 'client', 'issuer'] as const
const subjectName = ({ subjectType, subjectId }: NoteFieldsFragment) =>
  `${kinds[subjectType].label} …${subjectId.slice(-6)}`

function NoteList() {
  const { accountId } = usePlace()
  const person = usePerson()
  return (
    <Page
      title="Notes"
      lead="What your people have written about users, organizations, clients and issuers. Pinned first."
    >
      <List
        label="Notes"
        query={notes}
        variables={{ accountId }}
        page={(data) => data.notes}
        typename="Note"
        search={{ name: 'search', placeholder: 'Search by how it begins, or id' }}
        href={({ id }) => `${accountHref(accountId)}/notes/${id}`}
        filters={[
          {
            name: 'subjectType',
            label: 'About anything',
            options: subjects.map((value) => ({ value, label: `About ${kinds[value].label.toLowerCase()}s` })),
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
          ...(person
            ? [
                {
                  name: 'mentionsUserId',
                  label: 'Mentions anybody',
                  options: [{ value: person.id, label: 'Mentions me' }],
                },
              ]
            : []),
        ]}
        columns={[
          {
            head: 'Note',
            cell: (note) => (
              <Named
                mark={<Icon name={kinds[note.subjectType].icon} />}
                name={plainText(note.content)}
                text={`${subjectName(note)}${note.pinned ? ' · pinned' : ''}`}
              />
            ),
          },
          {
            head: 'By',
            width: '160px',
            wide: true,
            cell: ({ createdBy }) => authorOf(createdBy, person?.id),
          },
          { head: 'Written', width: '130px', cell: ({ createdAt }) => <Moment at={createdAt} /> },
        ]}
        empty={{
          icon: 'note',
          title: 'No note yet',
          text: 'Open a user, an organization, a client or an issuer and write what your people should know, under Notes.',
        }}
      />
    </Page>
  )
}

const fields: Field<UpdateNoteInput>[] = [
  {
    kind: 'long',
    path: 'content',
    label: 'Text',
    hint: 'Markdown. @[Name](user id) mentions somebody, [[org:id|Name]] refers to something.',
    required: true,
  },
  { kind: 'toggle', path: 'pinned', label: 'Pinned to the top' },
]

function NotePage({ noteId }: { noteId: string }) {
  const { accountId, may } = usePlace()
  const [, navigate] = useLocation()
  const run = useRun()
  const fresh = useFresh()
  const ids = { accountId, noteId }
  const { data, fault, loading, again } = useAsk(noteQuery, ids)
  if (loading) return <PageLoading />
  if (fault || !data) return <FaultState fault={fault!} again={again} />
  const { note } = data
  const list = `${accountHref(accountId)}/notes`
  const subject = hrefOfThing({ accountId, issuerId: note.issuerId ?? '' }, note.subjectType, note.subjectId)
  const remove = async () => {
    await run(deleteNote, { ...ids, ifMatch: versionOf(note) }, { done: 'Note deleted', typenames: ['Note'] })
    navigate(list)
  }
  return (
    <Page
      title="Note"
      crumbs={[{ label: 'Notes', href: list }]}
      actions={
        subject && (
          <Group gap="xs">
            <LinkButton
              href={note.subjectType === 'issuer' ? `${subject}/settings/notes` : `${subject}/notes`}
              variant="default"
              leftSection={<Icon name={kinds[note.subjectType].icon} />}
            >
              {subjectName(note)}
            </LinkButton>
          </Group>
        )
      }
    >
      <Card flush>
        <NoteCard note={note} withSubject />
      </Card>
      {may('updateNote') && (
        <EditForm
          title="Edit"
          fields={fields}
          thing={note}
          editable
          save={(input, ifMatch) => run(updateNote, { ...ids, input, ifMatch }, { done: 'Note saved' })}
          reload={async () => (await fresh(noteQuery, ids)).note}
        />
      )}
      {may('deleteNote') && (
        <DangerZone
          dangers={[
            {
              title: 'Delete this note',
              text: 'For everybody, with its mentions and references.',
              label: 'Delete note',
              warning: 'The note cannot be brought back.',
              run: remove,
            },
          ]}
        />
      )}
    </Page>
  )
}
