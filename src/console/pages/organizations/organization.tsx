/** One organization: its settings, and tabs for all that belongs to it. */
import { deleteOrganization, organization as organizationQuery, updateOrganization } from 'documents/organizations'
import type { UpdateOrganizationInput } from 'documents/types'
import { useLocation } from 'wouter'
import { EditForm, versionOf } from '../../form/edit-form'
import { useAsk, useFresh, useRun } from '../../graphql/hooks'
import { Card, Facts } from '../../parts/card'
import { DangerZone } from '../../parts/confirm'
import { DetailPage } from '../../parts/detail-page'
import { FaultState, PageLoading } from '../../parts/states'
import { Copyable, Moment, Status } from '../../parts/values'
import { issuerHref, usePlace } from '../../place'
import { Notes } from '../notes/notes'
import { general, membership, particulars, signIn } from './fields'
import { Groups } from './groups'
import { Invitations } from './invitations'
import { OrganizationKeys } from './keys'
import { Members } from './members'
import { useOrganization } from './place'

export function OrganizationPage() {
  const { ids, href, may } = useOrganization()
  const { may: mayHere } = usePlace()
  const [, navigate] = useLocation()
  const run = useRun()
  const fresh = useFresh()
  const { data, fault, loading, again } = useAsk(organizationQuery, ids)
  if (loading) return <PageLoading />
  if (fault || !data) return <FaultState fault={fault!} again={again} />
  const { organization } = data
  const name = organization.name ?? 'Without a name'
  const list = `${issuerHref(ids.accountId, ids.issuerId)}/organizations`
  const form = {
    thing: organization,
    editable: may('updateOrganization'),
    save: ({ security, ...rest }: UpdateOrganizationInput, ifMatch: string) => {
      // It is replaced as a whole, so what no field shows goes along.
      const input = {
        ...rest,
        ...(security && { security: { ...organization.security, ...security } }),
      }
      return run(updateOrganization, { ...ids, input, ifMatch }, { done: 'Organization saved' })
    },
    reload: async () => (await fresh(organizationQuery, ids)).organization,
  }
  const remove = async () => {
    const at = { ...ids, ifMatch: versionOf(organization) }
    await run(deleteOrganization, at, { done: 'Organization deleted', typenames: ['Organization'] })
    navigate(list)
  }
  return (
    <DetailPage
      title={name}
      badge={<Status value={organization.status} />}
      href={href}
      crumbs={[
        { label: 'Organizations', href: list },
        { label: name, href },
      ]}
      tabs={[
        {
          path: '',
          label: 'Overview',
          content: () => (
            <>
              <Card title="Identity">
                <Facts
                  rows={[
                    ['Organization id', <Copyable key="id" value={organization.id} label="organization id" />],
                    ['Kind', organization.orgType ?? 'not said'],
                    ['Invitations', organization.invitationEnabled ? 'allowed' : 'not allowed'],
                    ['Members at most', organization.maxMembers ?? 'any number'],
                    organization.statusReason ? ['Why it is so', organization.statusReason] : undefined,
                    ['Made', <Moment key="made" at={organization.createdAt} />],
                  ]}
                />
              </Card>
              <EditForm key="general" title="General" fields={general} {...form} />
            </>
          ),
        },
        {
          path: 'members',
          label: 'Members',
          offered: may('organizationMembers'),
          content: () => <Members />,
        },
        {
          path: 'groups',
          label: 'Groups',
          offered: may('organizationGroups'),
          content: () => <Groups />,
        },
        {
          path: 'invitations',
          label: 'Invitations',
          offered: may('organizationInvitations'),
          content: () => <Invitations enabled={organization.invitationEnabled} />,
        },
        {
          path: 'keys',
          label: 'API keys',
          offered: may('organizationApiKeys'),
          content: () => <OrganizationKeys />,
        },
        {
          path: 'notes',
          label: 'Notes',
          offered: mayHere('notes'),
          content: () => <Notes type="org" id={ids.orgId} name={name} />,
        },
        {
          path: 'settings',
          label: 'Settings',
          content: () => (
            <>
              <EditForm key="membership" title="Membership" fields={membership} {...form} />
              <EditForm
                key="sign-in"
                title="Signing in"
                text="Kept with the organization, for your applications and lists to go by."
                fields={signIn}
                {...form}
              />
              <EditForm key="particulars" title="Particulars" fields={particulars} {...form} />
              {may('deleteOrganization') && (
                <DangerZone
                  dangers={[
                    {
                      title: 'Delete this organization',
                      text: 'Its keys are revoked and its members leave it. The people stay users.',
                      label: 'Delete organization',
                      warning: 'This is permanent: keys are revoked, memberships, groups and invitations are removed.',
                      name: organization.name ?? organization.id,
                      run: remove,
                    },
                  ]}
                />
              )}
            </>
          ),
        },
      ]}
    />
  )
}
