/** One authentication method: where it is offered, and how its provider is reached. */

import { Alert } from '@mantine/core'
import { deleteAuthMethod, authMethod as methodQuery, updateAuthMethod } from 'documents/auth-methods'
import { useMemo } from 'react'
import { useLocation } from 'wouter'
import { EditForm, versionOf } from '../../form/edit-form'
import { useAsk, useFresh, useRun } from '../../graphql/hooks'
import { FindingsAt } from '../../health/findings'
import { Card, Facts } from '../../parts/card'
import { DangerZone } from '../../parts/confirm'
import { Icon } from '../../parts/icon'
import { Page } from '../../parts/page'
import { FaultState, PageLoading } from '../../parts/states'
import { Copyable, Moment, Status } from '../../parts/values'
import { issuerHref, usePlace } from '../../place'
import { type MethodForm, methodKinds, offerFields, secretNames } from './kinds'

export function AuthMethodPage({ methodId }: { methodId: string }) {
  const { accountId, issuerId, may } = usePlace()
  const [, navigate] = useLocation()
  const run = useRun()
  const fresh = useFresh()
  const ids = { accountId, issuerId, methodId }
  const { data, fault, loading, again } = useAsk(methodQuery, ids)
  const upstream = data && methodKinds[data.authMethod.method].upstream
  const providerFields = useMemo(
    () =>
      upstream?.map((field) =>
        secretNames.includes(field.path) ? { ...field, required: false, hint: 'Empty: the present one stays.' } : field,
      ),
    [upstream],
  )
  if (loading) return <PageLoading />
  if (fault || !data) return <FaultState fault={fault!} again={again} />
  const { authMethod: method } = data
  const kind = methodKinds[method.method]
  const list = `${issuerHref(accountId, issuerId)}/authentication`
  const form = {
    thing: method,
    editable: may('updateAuthMethod'),
    save: (input: MethodForm, ifMatch: string) =>
      run(updateAuthMethod, { ...ids, input, ifMatch }, { done: 'Method saved' }),
    reload: async () => (await fresh(methodQuery, ids)).authMethod,
  }
  const remove = async () => {
    await run(
      deleteAuthMethod,
      { ...ids, ifMatch: versionOf(method) },
      { done: 'Method deleted', typenames: ['AuthMethod'] },
    )
    navigate(list)
  }
  return (
    <Page
      title={method.name}
      badge={<Status value={!method.enabledLogin ? 'disabled' : method.ready ? 'active' : 'not_ready'} />}
      lead={kind.label}
      crumbs={[
        { label: 'Authentication', href: list },
        { label: method.name, href: `${list}/${methodId}` },
      ]}
    >
      <FindingsAt path={`auth_methods/${method.id}`} />
      {method.notReadyReason && !method.enabledLogin && !method.enabledSignup && (
        <Alert mb="md" color="orange" variant="light" icon={<Icon name="warning" />}>
          <strong>Cannot be used yet:</strong> {method.notReadyReason} The sign-in page does not offer it until then.
        </Alert>
      )}
      <Card title="Method">
        <Facts
          rows={[
            ['Method id', <Copyable key="id" value={method.id} label="method id" />],
            method.callbackUrl
              ? [
                  'Register this callback there',
                  <Copyable key="url" value={method.callbackUrl} label="callback address" />,
                ]
              : undefined,
            ['Added', <Moment key="added" at={method.createdAt} />],
          ]}
        />
      </Card>
      <EditForm
        key="offer"
        title="Where it is offered"
        text="Switched off for signing in, it stays with the people who have it and works again when switched on."
        fields={offerFields}
        {...form}
      />
      {providerFields && (
        <EditForm
          key="provider"
          title="Provider"
          text="When the address that the secret is for changes, give the secret again."
          fields={providerFields}
          {...form}
        />
      )}
      {may('deleteAuthMethod') && (
        <DangerZone
          dangers={[
            {
              title: 'Delete this method',
              text: 'Nobody can sign in with it here any more.',
              label: 'Delete method',
              warning: 'Whoever has no other way to sign in is locked out. To only pause it, switch it off instead.',
              name: method.name,
              run: remove,
            },
          ]}
        />
      )}
    </Page>
  )
}
