/** One administrator of an account. */
import { administrator as administratorQuery, removeAdministrator, updateAdministrator } from 'documents/administrators'
import type { UpdateOrganizationMemberInput } from 'documents/types'
import { useMemo } from 'react'
import { useLocation } from 'wouter'
import { EditForm } from '../../form/edit-form'
import type { Field } from '../../form/fields'
import { useAsk, useFresh, useRun } from '../../graphql/hooks'
import { Card, Facts } from '../../parts/card'
import { DangerZone } from '../../parts/confirm'
import { Page } from '../../parts/page'
import { FaultState, PageLoading } from '../../parts/states'
import { Copyable, Moment, Status } from '../../parts/values'
import { accountHref, usePlace } from '../../place'
import type { Administration } from './use-administration'

export function AdministratorPage({ memberId, administration }: { memberId: string; administration: Administration }) {
  const { accountId } = usePlace()
  const { org, may, scopes } = administration
  const [, navigate] = useLocation()
  const run = useRun()
  const fresh = useFresh()
  const ids = { ...org, memberId }
  const { data, fault, loading, again } = useAsk(administratorQuery, ids)
  const fields = useMemo(
    (): Field<UpdateOrganizationMemberInput>[] => [
      { kind: 'text', path: 'userTitle', label: 'Title', placeholder: 'On call' },
      {
        kind: 'choice',
        path: 'status',
        label: 'Status',
        hint: 'Who is suspended may do nothing here.',
        options: [
          { value: 'active', label: 'Active' },
          { value: 'suspended', label: 'Suspended' },
        ],
      },
      { kind: 'scopes', path: 'scopes', label: 'Scopes', offered: scopes },
    ],
    [scopes],
  )
  if (loading) return <PageLoading />
  if (fault || !data) return <FaultState fault={fault!} again={again} />
  const { organizationMember: member } = data
  const name = member.user?.profile['name'] ? String(member.user.profile['name']) : member.id
  const list = `${accountHref(accountId)}/administrators`
  const remove = async () => {
    await run(removeAdministrator, ids, { done: 'Administrator removed', typenames: ['OrganizationMember'] })
    navigate(list)
  }
  return (
    <Page
      title={name}
      badge={<Status value={member.status} />}
      crumbs={[
        { label: 'Administrators', href: list },
        { label: name, href: `${list}/${memberId}` },
      ]}
    >
      <Card title="Administrator">
        <Facts
          rows={[
            ['User id', <Copyable key="id" value={member.id} label="user id" />],
            ['May do', member.effectiveScopes.length > 0 ? member.effectiveScopes.join(', ') : 'nothing'],
            ['Since', <Moment key="since" at={member.createdAt} />],
          ]}
        />
      </Card>
      <EditForm
        title="What this person may do"
        text="You can give what you have yourself."
        fields={fields}
        thing={member}
        editable={may('updateOrganizationMember')}
        save={(input) => run(updateAdministrator, { ...ids, input }, { done: 'Administrator saved' })}
        reload={async () => (await fresh(administratorQuery, ids)).organizationMember}
      />
      {may('removeOrganizationMember') && (
        <DangerZone
          dangers={[
            {
              title: 'Remove this administrator',
              text: 'The user stays, but may do nothing in this account any more.',
              label: 'Remove administrator',
              warning: 'This person loses all access to the account at once.',
              name,
              run: remove,
            },
          ]}
        />
      )}
    </Page>
  )
}
