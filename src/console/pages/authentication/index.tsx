/** How people sign in at an issuer: the methods that it offers, and one of them. */
import { Button, Radio, SimpleGrid, Text } from '@mantine/core'
import { addAuthMethod, authMethods } from 'documents/auth-methods'
import type { AuthMethodKind, CreateAuthMethodInput } from 'documents/types'
import { useMemo, useState } from 'react'
import { Route, Switch, useLocation, useSearchParams } from 'wouter'
import { CreateDialog } from '../../form/create-dialog'
import { useAsk, useRun } from '../../graphql/hooks'
import { FindingsAt } from '../../health/findings'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Icon } from '../../parts/icon'
import { Page } from '../../parts/page'
import { Moment, Status } from '../../parts/values'
import { issuerHref, usePlace } from '../../place'
import classes from '../clients/create.module.css'
import { kindNames, type MethodForm, methodKinds, offerFields } from './kinds'
import { AuthMethodPage } from './method'

export default function Authentication() {
  return (
    <Switch>
      <Route path="/accounts/:accountId/issuers/:issuerId/authentication/:methodId">
        {({ methodId }) => <AuthMethodPage key={methodId} methodId={methodId!} />}
      </Route>
      <Route>{() => <MethodList />}</Route>
    </Switch>
  )
}

function MethodList() {
  const { accountId, issuerId, may } = usePlace()
  const [params, setParams] = useSearchParams()
  const open = () => setParams({ new: '1' }, { replace: true })
  return (
    <Page
      title="Authentication"
      lead="How people sign in here. Featured methods stand first on the sign-in page."
      actions={
        may('createAuthMethod') && (
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            Add method
          </Button>
        )
      }
    >
      <FindingsAt path="auth_methods" />
      <List
        label="Authentication methods"
        query={authMethods}
        variables={{ accountId, issuerId }}
        page={(data) => data.authMethods}
        typename="AuthMethod"
        href={({ id }) => `${issuerHref(accountId, issuerId)}/authentication/${id}`}
        columns={[
          {
            head: 'Method',
            cell: ({ name, method }) => (
              <Named mark={<Icon name={methodKinds[method].icon} />} name={name} text={methodKinds[method].label} />
            ),
          },
          {
            head: 'Sign-in',
            width: '120px',
            cell: ({ enabledLogin, ready }) => (
              <Status value={!enabledLogin ? 'disabled' : ready ? 'active' : 'not_ready'} />
            ),
          },
          {
            head: 'Sign-up',
            width: '120px',
            wide: true,
            cell: ({ enabledSignup }) => <Status value={enabledSignup ? 'active' : 'disabled'} />,
          },
          { head: 'Featured', width: '100px', wide: true, cell: ({ featured }) => (featured ? 'yes' : 'no') },
          { head: 'Added', width: '130px', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
        ]}
        empty={{
          icon: 'fingerprint',
          title: 'Nobody can sign in yet',
          text: 'Add a method: a password, a passkey, or a provider where people have an account already.',
          ...(may('createAuthMethod') && { action: 'Add method', onAction: open }),
        }}
      />
      {params.has('new') && may('createAuthMethod') && <AddMethod onClose={() => setParams({}, { replace: true })} />}
    </Page>
  )
}

function AddMethod({ onClose }: { onClose: () => void }) {
  const { accountId, issuerId } = usePlace()
  const [, navigate] = useLocation()
  const run = useRun()
  const { data } = useAsk(authMethods, { accountId, issuerId, limit: 100 }, { typename: 'AuthMethod' })
  // What happens here stands once; of other providers there can be several.
  const taken = new Set(data?.authMethods.data.map(({ method }) => method))
  const offered = kindNames.filter((kind) => methodKinds[kind].upstream || !taken.has(kind))
  const [wish, setWish] = useState<AuthMethodKind>()
  const kind = wish ?? offered[0]!
  const fields = useMemo(() => [...offerFields, ...(methodKinds[kind].upstream ?? [])], [kind])
  if (!data) return null
  const create = async (typed: MethodForm) => {
    const isUpstream = methodKinds[kind].upstream !== undefined
    const input: CreateAuthMethodInput = { ...typed, method: kind, ...(isUpstream && { firstFactorOnly: true }) }
    const { createAuthMethod: made } = await run(
      addAuthMethod,
      { accountId, issuerId, input },
      { done: 'Method added', typenames: ['AuthMethod'] },
    )
    navigate(`${issuerHref(accountId, issuerId)}/authentication/${made.id}`)
  }
  return (
    <CreateDialog
      key={kind}
      title="Add a method"
      fields={fields}
      initial={{ name: methodKinds[kind].label, enabledLogin: true }}
      submit="Add method"
      create={create}
      onClose={onClose}
    >
      <Radio.Group
        label="How are people to sign in?"
        value={kind}
        onChange={(name) => setWish(name as AuthMethodKind)}
        mb="lg"
      >
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing={10} mt={8}>
          {offered.map((name) => (
            <Radio.Card key={name} value={name} className={classes.kind} aria-label={methodKinds[name].label}>
              <span className={classes.icon}>
                <Icon name={methodKinds[name].icon} size={18} />
              </span>
              <span>
                <Text size="sm" fw={580}>
                  {methodKinds[name].label}
                </Text>
                <Text size="xs" c="dimmed">
                  {methodKinds[name].text}
                </Text>
              </span>
            </Radio.Card>
          ))}
        </SimpleGrid>
      </Radio.Group>
    </CreateDialog>
  )
}
