/** How an issuer behaves and looks. */
import { deleteIssuer, issuer as issuerQuery, updateIssuer } from 'documents/issuers'
import type { UpdateIssuerInput } from 'documents/types'
import { useLocation } from 'wouter'
import { EditForm, versionOf } from '../../form/edit-form'
import { useAsk, useFresh, useRun } from '../../graphql/hooks'
import { FindingsOfFields, OtherFindings } from '../../health/findings'
import { DangerZone } from '../../parts/confirm'
import { DetailPage } from '../../parts/detail-page'
import { FaultState, PageLoading } from '../../parts/states'
import { accountHref, issuerHref, usePlace } from '../../place'
import { Notes } from '../notes/notes'
import { branding, general, redirectUris, security, sessions, signup } from './fields'
import { LoginPreview } from './preview'

export default function IssuerSettings() {
  const { accountId, issuerId, may } = usePlace()
  const [, navigate] = useLocation()
  const run = useRun()
  const fresh = useFresh()
  const { data, fault, loading, again } = useAsk(issuerQuery, { accountId, issuerId })
  if (loading) return <PageLoading />
  if (fault || !data) return <FaultState fault={fault!} again={again} />
  const { issuer } = data
  const href = `${issuerHref(accountId, issuerId)}/settings`
  const form = {
    thing: issuer,
    editable: may('updateIssuer'),
    save: (input: UpdateIssuerInput, ifMatch: string) =>
      run(updateIssuer, { accountId, issuerId, input, ifMatch }, { done: 'Issuer saved' }),
    reload: async () => (await fresh(issuerQuery, { accountId, issuerId })).issuer,
  }
  const remove = async () => {
    await run(
      deleteIssuer,
      { accountId, issuerId, ifMatch: versionOf(issuer) },
      { done: 'Issuer deleted', typenames: ['Issuer'] },
    )
    navigate(`${accountHref(accountId)}/issuers`)
  }
  return (
    <FindingsOfFields>
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
                <EditForm key="general" title="General" fields={general} {...form} />
                {may('deleteIssuer') && (
                  <DangerZone
                    dangers={[
                      {
                        title: 'Delete this issuer',
                        text: 'Sign-ins fail at once, and its clients go with it.',
                        label: 'Delete issuer',
                        warning: 'Nobody can sign in through it any more, and every application of it stops working.',
                        name: issuer.name,
                        run: remove,
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
                <OtherFindings within={['settings.signup']} fields={signup} />
                <EditForm key="sign-up" title="Who may sign up" fields={signup} {...form} />
              </>
            ),
          },
          {
            path: 'security',
            label: 'Security',
            content: () => (
              <>
                <OtherFindings
                  within={['settings.security', 'settings.sessions']}
                  fields={[...security, ...redirectUris, ...sessions]}
                />
                <EditForm key="security" title="Passwords and second factors" fields={security} {...form} />
                <EditForm
                  key="redirect-uris"
                  title="Redirect URIs"
                  text="Which redirect URIs clients may have. A client that does not comply keeps working until its settings change or it is enabled again."
                  fields={redirectUris}
                  {...form}
                />
                <EditForm
                  key="sessions"
                  title="Sessions"
                  text="How long people stay signed in. Times are in seconds."
                  fields={sessions}
                  {...form}
                />
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
                text="How the hosted sign-in pages look. The preview shows what you type, before it is saved."
                fields={branding}
                {...form}
                aside={(values) => <LoginPreview values={values} issuerName={issuer.name} />}
              />
            ),
          },
          {
            path: 'notes',
            label: 'Notes',
            offered: may('notes'),
            content: () => <Notes type="issuer" id={issuerId} name={issuer.name} />,
          },
        ]}
      />
    </FindingsOfFields>
  )
}
