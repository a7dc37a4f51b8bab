/** One user: who it is, where it is signed in, how it signs in. */
import type { UpdateUserInput } from 'documents/types'
import { deleteUser, updateUser, user as userQuery } from 'documents/users'
import { useLocation } from 'wouter'
import { EditForm, versionOf } from '../../form/edit-form'
import type { Field } from '../../form/fields'
import { useAsk, useFresh, useRun } from '../../graphql/hooks'
import { Card, Facts } from '../../parts/card'
import { DangerZone } from '../../parts/confirm'
import { DetailPage } from '../../parts/detail-page'
import { FaultState, PageLoading } from '../../parts/states'
import { Copyable, Moment, Status } from '../../parts/values'
import { issuerHref, usePlace } from '../../place'
import { Notes } from '../notes/notes'
import { UserEvents } from './events'
import { userName } from './names'
import { UserOrganizations } from './organizations'
import { UserSessions } from './sessions'
import { UserTokens } from './tokens'
import { UserVerifiers } from './verifiers'

const profile: Field<UpdateUserInput>[] = [
  { kind: 'text', path: 'username', label: 'Username', required: true },
  {
    kind: 'json',
    path: 'profile',
    label: 'Profile',
    hint: 'OpenID Connect’s claims: name, given_name, email, picture …',
  },
  {
    kind: 'choice',
    path: 'status',
    label: 'Status',
    hint: 'Suspending or blocking signs the user out everywhere.',
    options: [
      { value: 'active', label: 'Active' },
      { value: 'suspended', label: 'Suspended' },
      { value: 'blocked', label: 'Blocked' },
    ],
  },
  { kind: 'text', path: 'statusReason', label: 'Why', when: ({ status }) => status !== 'active' },
  { kind: 'list', path: 'scopes', label: 'Scopes', hint: 'What the user itself may do, such as orders:read.' },
  { kind: 'json', path: 'metadata', label: 'Metadata', hint: 'A JSON object of your own.' },
]

export function UserPage({ userId }: { userId: string }) {
  const { accountId, issuerId, may } = usePlace()
  const [, navigate] = useLocation()
  const run = useRun()
  const fresh = useFresh()
  const ids = { accountId, issuerId, userId }
  const { data, fault, loading, again } = useAsk(userQuery, ids)
  if (loading) return <PageLoading />
  if (fault || !data) return <FaultState fault={fault!} again={again} />
  const { user } = data
  const name = userName(user)
  const list = `${issuerHref(accountId, issuerId)}/users`
  const href = `${list}/${userId}`
  const remove = async () => {
    await run(deleteUser, { ...ids, ifMatch: versionOf(user) }, { done: 'User deleted', typenames: ['User'] })
    navigate(list)
  }
  return (
    <DetailPage
      title={name}
      badge={<Status value={user.status} />}
      {...(name !== user.username && { lead: user.username })}
      href={href}
      crumbs={[
        { label: 'Users', href: list },
        { label: name, href },
      ]}
      tabs={[
        {
          path: '',
          label: 'Profile',
          content: () => (
            <>
              <Card title="Identity">
                <Facts
                  rows={[
                    ['User id', <Copyable key="id" value={user.id} label="user id" />],
                    ['Username', `${user.username} (${user.usernameType})`],
                    ['Email address confirmed', user.emailVerified ? 'yes' : 'no'],
                    ['Joined', <Moment key="joined" at={user.createdAt} />],
                  ]}
                />
              </Card>
              <EditForm
                title="Profile"
                fields={profile}
                thing={user}
                editable={may('updateUser')}
                save={(input, ifMatch) => run(updateUser, { ...ids, input, ifMatch }, { done: 'User saved' })}
                reload={async () => (await fresh(userQuery, ids)).user}
              />
              {may('deleteUser') && (
                <DangerZone
                  dangers={[
                    {
                      title: 'Delete this user',
                      text: 'Signed out at once; the data is removed within a day.',
                      label: 'Delete user',
                      warning: 'The user cannot sign in any more, and its data is removed within a day.',
                      name: user.username,
                      run: remove,
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
          offered: may('sessions'),
          content: () => <UserSessions userId={userId} />,
        },
        {
          path: 'verifiers',
          label: 'Ways to sign in',
          offered: may('verifiers'),
          content: () => <UserVerifiers userId={userId} />,
        },
        {
          path: 'organizations',
          label: 'Organizations',
          offered: may('organizations'),
          content: () => <UserOrganizations userId={userId} />,
        },
        {
          path: 'tokens',
          label: 'Personal tokens',
          offered: may('personalTokens'),
          content: () => <UserTokens userId={userId} />,
        },
        {
          path: 'notes',
          label: 'Notes',
          offered: may('notes'),
          content: () => <Notes type="user" id={userId} name={name} />,
        },
        {
          path: 'events',
          label: 'Events',
          offered: may('events'),
          content: () => <UserEvents userId={userId} />,
        },
      ]}
    />
  )
}
