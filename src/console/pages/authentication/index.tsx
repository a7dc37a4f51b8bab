/** The authentication methods of an issuer: routes, list, and the dialog that adds a method. */
import { Button, Radio, SimpleGrid, Text } from '@mantine/core'
import { addAuthMethod, authMethods } from 'documents/auth-methods'
import type { AuthMethodKind, CreateAuthMethodInput } from 'documents/types'
import { useMemo, useState } from 'react'
import { Route, Switch, useLocation, useSearchParams } from 'wouter'
import { Icon } from '../../components/icon'
import { Page } from '../../components/page'
import { RelativeTime, StatusBadge } from '../../components/values'
import { issuerHref, useConsoleContext } from '../../console-context'
import { CreateDialog } from '../../form/create-dialog'
import { useMutation, useQuery } from '../../graphql/hooks'
import { ResourceFindings } from '../../health/findings'
import { List } from '../../list/list-page'
import { NameCell } from '../../list/list-table'
import classes from '../clients/create.module.css'
import { AuthMethodPage } from './method'
import { availabilityFields, type MethodForm, methodKindNames, methodKinds } from './method-kinds'

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
  const { accountId, issuerId, may } = useConsoleContext()
  const [params, setParams] = useSearchParams()
  const open = () => setParams({ new: '1' }, { replace: true })
  return (
    <Page
      title="Authentication"
      lead="Methods that users can sign in with. Featured methods come first on the sign-in page."
      actions={
        may('createAuthMethod') && (
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            Add method
          </Button>
        )
      }
    >
      <ResourceFindings path="auth_methods" />
      <List
        label="Authentication methods"
        query={authMethods}
        variables={{ accountId, issuerId }}
        page={(data) => data.authMethods}
        typename="AuthMethod"
        href={({ id }) => `${issuerHref(accountId, issuerId)}/authentication/${id}`}
        columns={[
          {
            header: 'Method',
            cell: ({ name, method }) => (
              <NameCell mark={<Icon name={methodKinds[method].icon} />} name={name} text={methodKinds[method].label} />
            ),
          },
          {
            header: 'Sign-in',
            width: '120px',
            cell: ({ enabledLogin, ready }) => (
              <StatusBadge value={!enabledLogin ? 'disabled' : ready ? 'active' : 'not_ready'} />
            ),
          },
          {
            header: 'Sign-up',
            width: '120px',
            hideOnMobile: true,
            cell: ({ enabledSignup }) => <StatusBadge value={enabledSignup ? 'active' : 'disabled'} />,
          },
          { header: 'Featured', width: '100px', hideOnMobile: true, cell: ({ featured }) => (featured ? 'yes' : 'no') },
          {
            header: 'Added',
            width: '130px',
            hideOnMobile: true,
            cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
          },
        ]}
        empty={{
          icon: 'fingerprint',
          title: 'No authentication methods yet',
          text: 'Users cannot sign in. Add a method: password, passkey, or a provider where users already have an account.',
          ...(may('createAuthMethod') && { action: 'Add method', onAction: open }),
        }}
      />
      {params.has('new') && may('createAuthMethod') && <AddMethod onClose={() => setParams({}, { replace: true })} />}
    </Page>
  )
}

function AddMethod({ onClose }: { onClose: () => void }) {
  const { accountId, issuerId } = useConsoleContext()
  const [, navigate] = useLocation()
  const mutate = useMutation()
  const { data } = useQuery(authMethods, { accountId, issuerId, limit: 100 }, { typename: 'AuthMethod' })
  // A local method can be added only once; several methods of each kind of external provider are possible.
  const usedKinds = new Set(data?.authMethods.data.map(({ method }) => method))
  const availableKinds = methodKindNames.filter((kind) => methodKinds[kind].upstreamFields || !usedKinds.has(kind))
  const [selectedKind, setSelectedKind] = useState<AuthMethodKind>()
  const kind = selectedKind ?? availableKinds[0]!
  const fields = useMemo(() => [...availabilityFields, ...(methodKinds[kind].upstreamFields ?? [])], [kind])
  if (!data) return null
  const create = async (typed: MethodForm) => {
    const isUpstream = methodKinds[kind].upstreamFields !== undefined
    const input: CreateAuthMethodInput = { ...typed, method: kind, ...(isUpstream && { firstFactorOnly: true }) }
    const { createAuthMethod: created } = await mutate(
      addAuthMethod,
      { accountId, issuerId, input },
      { successMessage: 'Method added', typenames: ['AuthMethod'] },
    )
    navigate(`${issuerHref(accountId, issuerId)}/authentication/${created.id}`)
  }
  return (
    <CreateDialog
      key={kind}
      title="Add method"
      fields={fields}
      initial={{ name: methodKinds[kind].label, enabledLogin: true }}
      submitLabel="Add method"
      create={create}
      onClose={onClose}
    >
      <Radio.Group label="Method" value={kind} onChange={(name) => setSelectedKind(name as AuthMethodKind)} mb="lg">
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing={10} mt={8}>
          {availableKinds.map((name) => (
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
