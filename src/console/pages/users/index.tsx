/** The users of an issuer: the list, and one of them. */
import { Button } from '@mantine/core'
import type { CreateUserInput } from 'documents/types'
import { createUser, createVerifier, users } from 'documents/users'
import { lazy } from 'react'
import { Redirect, Route, Switch, useLocation, useSearchParams } from 'wouter'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { tellFault, useRun } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Icon } from '../../parts/icon'
import { LinkButton } from '../../parts/link'
import { Page } from '../../parts/page'
import { Moment, Status } from '../../parts/values'
import { issuerHref, usePlace } from '../../place'
import { initialsOf, userName } from './names'
import { UserPage } from './user'

const ImportUsers = lazy(() => import('./import'))

export default function Users() {
  return (
    <Switch>
      <Route path="/accounts/:accountId/issuers/:issuerId/users/import">{() => <Importing />}</Route>
      <Route path="/accounts/:accountId/issuers/:issuerId/users/:userId/*?">
        {({ userId }) => <UserPage key={userId} userId={userId!} />}
      </Route>
      <Route>{() => <UserList />}</Route>
    </Switch>
  )
}

function Importing() {
  const { accountId, issuerId, may } = usePlace()
  if (!may('importUsers')) return <Redirect to={`${issuerHref(accountId, issuerId)}/users`} replace />
  return <ImportUsers />
}

const statuses = ['active', 'suspended', 'blocked', 'pending_approval', 'disabled'] as const

function UserList() {
  const { accountId, issuerId, may } = usePlace()
  const [params, setParams] = useSearchParams()
  const open = () => setParams({ new: '1' }, { replace: true })
  const base = `${issuerHref(accountId, issuerId)}/users`
  return (
    <Page
      title="Users"
      lead="People of this issuer. Usernames are shown on a user’s own page only."
      actions={
        <>
          {may('importUsers') && (
            <LinkButton href={`${base}/import`} variant="default" leftSection={<Icon name="upload" />}>
              Import
            </LinkButton>
          )}
          {may('createUser') && (
            <Button leftSection={<Icon name="plus" />} onClick={open}>
              New user
            </Button>
          )}
        </>
      }
    >
      <List
        label="Users"
        query={users}
        variables={{ accountId, issuerId }}
        page={(data) => data.users}
        typename="User"
        href={({ id }) => `${base}/${id}`}
        search={{ name: 'search', placeholder: 'Search by username, name or email' }}
        filters={[
          {
            name: 'status',
            label: 'Any status',
            options: statuses.map((value) => ({ value, label: value.replaceAll('_', ' ') })),
          },
        ]}
        columns={[
          {
            head: 'Name',
            cell: (user) => <Named mark={initialsOf(user)} name={userName(user)} text={user.id} />,
          },
          { head: 'Signs in by', width: '130px', wide: true, cell: ({ usernameType }) => usernameType },
          { head: 'Status', width: '175px', cell: ({ status }) => <Status value={status} /> },
          { head: 'Joined', width: '130px', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
        ]}
        empty={{
          icon: 'users',
          title: 'Nobody is here yet',
          text: 'Make a user to try signing in, or let people sign up under Settings.',
          ...(may('createUser') && { action: 'New user', onAction: open }),
        }}
      />
      {params.has('new') && may('createUser') && <CreateUser onClose={() => setParams({}, { replace: true })} />}
    </Page>
  )
}

const fields: Field<CreateUserInput & { password: string }>[] = [
  {
    kind: 'choice',
    path: 'usernameType',
    label: 'Signs in by',
    options: [
      { value: 'email', label: 'Email address' },
      { value: 'phone', label: 'Phone number' },
      { value: 'unique', label: 'A name of its own' },
    ],
  },
  { kind: 'text', path: 'username', label: 'Username', required: true, placeholder: 'ada@example.com' },
  { kind: 'text', path: 'profile.name', label: 'Full name', placeholder: 'Ada Lovelace' },
  {
    kind: 'password',
    path: 'password',
    label: 'Password',
    hint: 'Leave it empty to add a way to sign in later; until then the user cannot.',
  },
]

function CreateUser({ onClose }: { onClose: () => void }) {
  const { accountId, issuerId } = usePlace()
  const [, navigate] = useLocation()
  const run = useRun()
  const create = async ({ password, ...input }: CreateUserInput & { password?: string }) => {
    const { createUser: made } = await run(createUser, { accountId, issuerId, input }, { done: 'User made' })
    if (password) {
      const verifier = { type: 'password' as const, name: 'Password', password }
      // The user is there whatever becomes of the password; it can be given on the next page.
      await run(createVerifier, { accountId, issuerId, userId: made.id, input: verifier }).catch(tellFault)
    }
    navigate(`${issuerHref(accountId, issuerId)}/users/${made.id}`)
  }
  return (
    <CreateDialog
      title="New user"
      fields={fields}
      initial={{ usernameType: 'email' }}
      submit="Make user"
      create={create}
      onClose={onClose}
    />
  )
}
