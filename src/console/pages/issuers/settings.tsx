/** The settings of an issuer. */
import { deleteIssuer, issuer as issuerQuery, updateIssuer } from 'documents/issuers'
import type { UpdateIssuerInput } from 'documents/types'
import { useLocation } from 'wouter'
import { DangerZone } from '../../components/confirm-dialog'
import { DetailPage } from '../../components/detail-page'
import { ErrorState, PageLoading } from '../../components/states'
import { accountHref, issuerHref, useConsoleContext } from '../../console-context'
import { EditForm, etagOf } from '../../form/edit-form'
import { useMutation, useQuery, useRefetch } from '../../graphql/hooks'
import { FieldFindingsProvider, SectionFindings } from '../../health/findings'
import { claimsTab } from '../claims/claims-tab'
import { NotesPanel } from '../notes/notes'
import { brandingFields, generalFields, redirectUriFields, securityFields, sessionFields, signupFields } from './fields'
import { LoginPreview } from './login-preview'
import { ProtocolSettings } from './protocol-settings'
import { InitialAccessTokens, registrationFields } from './registration'

export default function IssuerSettings() {
  const { accountId, issuerId, may } = useConsoleContext()
  const [, navigate] = useLocation()
  const mutate = useMutation()
  const fetchLatest = useRefetch()
  const { data, error, loading, refetch } = useQuery(issuerQuery, { accountId, issuerId })
  if (loading) return <PageLoading />
  if (error || !data) return <ErrorState error={error!} onRetry={refetch} />
  const { issuer } = data
  const href = `${issuerHref(accountId, issuerId)}/settings`
  const formProps = {
    resource: issuer,
    editable: may('updateIssuer'),
    save: (input: UpdateIssuerInput, ifMatch: string) =>
      mutate(updateIssuer, { accountId, issuerId, input, ifMatch }, { successMessage: 'Issuer saved' }),
    reload: async () => (await fetchLatest(issuerQuery, { accountId, issuerId })).issuer,
  }
  const remove = async () => {
    await mutate(
      deleteIssuer,
      { accountId, issuerId, ifMatch: etagOf(issuer) },
      { successMessage: 'Issuer deleted', typenames: ['Issuer'] },
    )
    navigate(`${accountHref(accountId)}/issuers`)
  }
  return (
    <FieldFindingsProvider>
      <DetailPage
        title="Issuer settings"
        href={href}
        crumbs={[{ label: 'Settings', href }]}
        tabs={[
          {
            path: '',
            label: 'General',
            content: () => (
              <>
                <EditForm key="general" title="General" fields={generalFields} {...formProps} />
                {may('deleteIssuer') && (
                  <DangerZone
                    actions={[
                      {
                        title: 'Delete this issuer',
                        text: 'Deletes the issuer and its clients. Users can no longer sign in.',
                        label: 'Delete issuer',
                        warning: 'All applications that use this issuer stop working immediately.',
                        name: issuer.name,
                        onConfirm: remove,
                      },
                    ]}
                  />
                )}
              </>
            ),
          },
          {
            path: 'sign-up',
            label: 'Sign-up',
            content: () => (
              <>
                <SectionFindings sections={['settings.signup']} fields={signupFields} />
                <EditForm key="sign-up" title="Sign-up" fields={signupFields} {...formProps} />
              </>
            ),
          },
          {
            path: 'security',
            label: 'Security',
            content: () => (
              <>
                <SectionFindings
                  sections={['settings.security', 'settings.sessions']}
                  fields={[...securityFields, ...redirectUriFields, ...sessionFields]}
                />
                <EditForm
                  key="security"
                  title="Passwords and multi-factor authentication"
                  fields={securityFields}
                  {...formProps}
                />
                <EditForm
                  key="redirect-uris"
                  title="Redirect URIs"
                  text="Rules for the redirect URIs of clients. Existing clients keep working. A client that breaks a rule must be corrected when its settings change or when it is enabled again."
                  fields={redirectUriFields}
                  {...formProps}
                />
                <EditForm
                  key="sessions"
                  title="Sessions"
                  text="How long users stay signed in. Times are in seconds."
                  fields={sessionFields}
                  {...formProps}
                />
              </>
            ),
          },
          {
            path: 'protocol',
            label: 'Protocol',
            content: () => <ProtocolSettings key="protocol" {...formProps} />,
          },
          {
            path: 'registration',
            label: 'Client registration',
            content: () => (
              <>
                <EditForm
                  key="registration"
                  title="Dynamic client registration"
                  text={`For programs that no administrator sets up, such as MCP clients. They register at ${issuer.url}/register.`}
                  fields={registrationFields}
                  {...formProps}
                />
                {may('initialAccessTokens') && <InitialAccessTokens />}
              </>
            ),
          },
          {
            path: 'branding',
            label: 'Branding',
            content: () => (
              <EditForm
                key="branding"
                title="Branding"
                text="How the hosted sign-in pages look. The preview shows unsaved names and colors."
                fields={brandingFields}
                {...formProps}
                aside={(values) => <LoginPreview values={values} issuerName={issuer.name} />}
              />
            ),
          },
          claimsTab(formProps),
          {
            path: 'notes',
            label: 'Notes',
            isVisible: may('notes'),
            content: () => <NotesPanel type="issuer" id={issuerId} name={issuer.name} />,
          },
        ]}
      />
    </FieldFindingsProvider>
  )
}
