/** The page of an organization: settings, and tabs for its members, groups, invitations, API keys and notes. */
import { deleteOrganization, organization as organizationQuery, updateOrganization } from 'documents/organizations'
import type { UpdateOrganizationInput } from 'documents/types'
import { useLocation } from 'wouter'
import { Card, DescriptionList } from '../../components/card'
import { DangerZone } from '../../components/confirm-dialog'
import { DetailPage } from '../../components/detail-page'
import { ErrorState, PageLoading } from '../../components/states'
import { Copyable, RelativeTime, StatusBadge } from '../../components/values'
import { issuerHref, useConsoleContext } from '../../console-context'
import { EditForm, etagOf } from '../../form/edit-form'
import { useMutation, useQuery, useRefetch } from '../../graphql/hooks'
import { NotesPanel } from '../notes/notes'
import { additionalFields, generalFields, membershipFields, securityFields } from './fields'
import { Groups } from './groups'
import { Invitations } from './invitations'
import { OrganizationKeys } from './keys'
import { Members } from './members'
import { useOrganization } from './organization-context'

export function OrganizationPage() {
  const { ids, href, may } = useOrganization()
  const { may: mayInIssuer } = useConsoleContext()
  const [, navigate] = useLocation()
  const mutate = useMutation()
  const fetchLatest = useRefetch()
  const { data, error, loading, refetch } = useQuery(organizationQuery, ids)
  if (loading) return <PageLoading />
  if (error || !data) return <ErrorState error={error!} onRetry={refetch} />
  const { organization } = data
  const name = organization.name ?? 'Unnamed'
  const listHref = `${issuerHref(ids.accountId, ids.issuerId)}/organizations`
  const formProps = {
    resource: organization,
    editable: may('updateOrganization'),
    save: ({ security, ...rest }: UpdateOrganizationInput, ifMatch: string) => {
      // `security` is replaced as a whole, so keys that have no field in the form must be sent as well.
      const input = {
        ...rest,
        ...(security && { security: { ...organization.security, ...security } }),
      }
      return mutate(updateOrganization, { ...ids, input, ifMatch }, { successMessage: 'Organization saved' })
    },
    reload: async () => (await fetchLatest(organizationQuery, ids)).organization,
  }
  const remove = async () => {
    const variables = { ...ids, ifMatch: etagOf(organization) }
    await mutate(deleteOrganization, variables, { successMessage: 'Organization deleted', typenames: ['Organization'] })
    navigate(listHref)
  }
  return (
    <DetailPage
      title={name}
      badge={<StatusBadge value={organization.status} />}
      href={href}
      crumbs={[
        { label: 'Organizations', href: listHref },
        { label: name, href },
      ]}
      tabs={[
        {
          path: '',
          label: 'Overview',
          content: () => (
            <>
              <Card title="Details">
                <DescriptionList
                  rows={[
                    ['Organization ID', <Copyable key="id" value={organization.id} label="organization ID" />],
                    ['Type', organization.orgType ?? 'not set'],
                    ['Invitations', organization.invitationEnabled ? 'allowed' : 'not allowed'],
                    ['Maximum members', organization.maxMembers ?? 'unlimited'],
                    organization.statusReason ? ['Status reason', organization.statusReason] : undefined,
                    ['Created', <RelativeTime key="created" at={organization.createdAt} />],
                  ]}
                />
              </Card>
              <EditForm key="general" title="General" fields={generalFields} {...formProps} />
            </>
          ),
        },
        {
          path: 'members',
          label: 'Members',
          isVisible: may('organizationMembers'),
          content: () => <Members />,
        },
        {
          path: 'groups',
          label: 'Groups',
          isVisible: may('organizationGroups'),
          content: () => <Groups />,
        },
        {
          path: 'invitations',
          label: 'Invitations',
          isVisible: may('organizationInvitations'),
          content: () => <Invitations enabled={organization.invitationEnabled} />,
        },
        {
          path: 'keys',
          label: 'API keys',
          isVisible: may('organizationApiKeys'),
          content: () => <OrganizationKeys />,
        },
        {
          path: 'notes',
          label: 'Notes',
          isVisible: mayInIssuer('notes'),
          content: () => <NotesPanel type="org" id={ids.orgId} name={name} />,
        },
        {
          path: 'settings',
          label: 'Settings',
          content: () => (
            <>
              <EditForm key="membership" title="Membership" fields={membershipFields} {...formProps} />
              <EditForm
                key="sign-in"
                title="Sign-in"
                text="Rules for signing in to this organization."
                fields={securityFields}
                {...formProps}
              />
              <EditForm key="additional" title="Additional information" fields={additionalFields} {...formProps} />
              {may('deleteOrganization') && (
                <DangerZone
                  actions={[
                    {
                      title: 'Delete this organization',
                      text: 'Revokes its API keys and removes its members. The users are not deleted.',
                      label: 'Delete organization',
                      warning:
                        'API keys are revoked, and memberships, groups and invitations are removed. This cannot be undone.',
                      name: organization.name ?? organization.id,
                      onConfirm: remove,
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
