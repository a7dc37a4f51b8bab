/** The page of a user: profile, and tabs for everything that belongs to the user. */
import type { UpdateUserInput } from 'documents/types'
import { deleteUser, updateUser, user as userQuery } from 'documents/users'
import { useLocation } from 'wouter'
import { Card, DescriptionList } from '../../components/card'
import { DangerZone } from '../../components/confirm-dialog'
import { DetailPage } from '../../components/detail-page'
import { ErrorState, PageLoading } from '../../components/states'
import { Copyable, RelativeTime, StatusBadge } from '../../components/values'
import { issuerHref, useConsoleContext } from '../../console-context'
import { EditForm, etagOf } from '../../form/edit-form'
import type { Field } from '../../form/fields'
import { useMutation, useQuery, useRefetch } from '../../graphql/hooks'
import { NotesPanel } from '../notes/notes'
import { UserEvents } from './events'
import { userName } from './names'
import { UserOrganizations } from './organizations'
import { UserSessions } from './sessions'
import { UserTokens } from './tokens'
import { UserVerifiers } from './verifiers'

const profileFields: Field<UpdateUserInput>[] = [
  { kind: 'text', path: 'username', label: 'Username', required: true },
  {
    kind: 'json',
    path: 'profile',
    label: 'Profile',
    hint: 'OpenID Connect claims, such as name, given_name, email and picture.',
  },
  {
    kind: 'select',
    path: 'status',
    label: 'Status',
    hint: 'Suspending or blocking a user ends all sessions of the user.',
    options: [
      { value: 'active', label: 'Active' },
      { value: 'suspended', label: 'Suspended' },
      { value: 'blocked', label: 'Blocked' },
    ],
  },
  { kind: 'text', path: 'statusReason', label: 'Reason', visibleWhen: ({ status }) => status !== 'active' },
  { kind: 'list', path: 'scopes', label: 'Scopes', hint: 'Scopes of the user, such as orders:read.' },
  { kind: 'json', isMerged: true, path: 'metadata', label: 'Metadata', hint: 'A JSON object with custom data.' },
]

/** The profile fields of callers who may also write the credentials of the user. */
const credentialFields: Field<UpdateUserInput>[] = [
  ...profileFields.slice(0, 2),
  {
    kind: 'toggle',
    path: 'emailVerified',
    label: 'Email address is verified',
    hint: 'Turn this on only if you know that the address belongs to the user. Another email address turns it off.',
  },
  ...profileFields.slice(2),
]

export function UserPage({ userId }: { userId: string }) {
  const { accountId, issuerId, may } = useConsoleContext()
  const [, navigate] = useLocation()
  const mutate = useMutation()
  const fetchLatest = useRefetch()
  const ids = { accountId, issuerId, userId }
  const { data, error, loading, refetch } = useQuery(userQuery, ids)
  if (loading) return <PageLoading />
  if (error || !data) return <ErrorState error={error!} onRetry={refetch} />
  const { user } = data
  const name = userName(user)
  const listHref = `${issuerHref(accountId, issuerId)}/users`
  const href = `${listHref}/${userId}`
  const remove = async () => {
    await mutate(deleteUser, { ...ids, ifMatch: etagOf(user) }, { successMessage: 'User deleted', typenames: ['User'] })
    navigate(listHref)
  }
  return (
    <DetailPage
      title={name}
      badge={<StatusBadge value={user.status} />}
      {...(name !== user.username && { lead: user.username })}
      href={href}
      crumbs={[
        { label: 'Users', href: listHref },
        { label: name, href },
      ]}
      tabs={[
        {
          path: '',
          label: 'Profile',
          content: () => (
            <>
              <Card title="Identity">
                <DescriptionList
                  rows={[
                    ['User ID', <Copyable key="id" value={user.id} label="user ID" />],
                    ['Username', `${user.username} (${user.usernameType})`],
                    ['Email verified', user.emailVerified ? 'yes' : 'no'],
                    ['Created', <RelativeTime key="created" at={user.createdAt} />],
                  ]}
                />
              </Card>
              <EditForm
                title="Profile"
                fields={may('createVerifier') ? credentialFields : profileFields}
                resource={user}
                editable={may('updateUser')}
                save={(input, ifMatch) =>
                  mutate(updateUser, { ...ids, input, ifMatch }, { successMessage: 'User saved' })
                }
                reload={async () => (await fetchLatest(userQuery, ids)).user}
              />
              {may('deleteUser') && (
                <DangerZone
                  actions={[
                    {
                      title: 'Delete this user',
                      text: 'Ends all sessions immediately. The data of the user is removed after 24 hours.',
                      label: 'Delete user',
                      warning: 'The user can no longer sign in. The data of the user is removed after 24 hours.',
                      name: user.username,
                      onConfirm: remove,
                    },
                  ]}
                />
              )}
            </>
          ),
        },
        {
          path: 'sessions',
          label: 'Sessions',
          isVisible: may('sessions'),
          content: () => <UserSessions userId={userId} />,
        },
        {
          path: 'verifiers',
          label: 'Credentials',
          isVisible: may('verifiers'),
          content: () => <UserVerifiers userId={userId} />,
        },
        {
          path: 'organizations',
          label: 'Organizations',
          isVisible: may('organizations'),
          content: () => <UserOrganizations userId={userId} />,
        },
        {
          path: 'tokens',
          label: 'Personal tokens',
          isVisible: may('personalTokens'),
          content: () => <UserTokens userId={userId} />,
        },
        {
          path: 'notes',
          label: 'Notes',
          isVisible: may('notes'),
          content: () => <NotesPanel type="user" id={userId} name={name} />,
        },
        {
          path: 'events',
          label: 'Events',
          isVisible: may('events'),
          content: () => <UserEvents userId={userId} />,
        },
      ]}
    />
  )
}
