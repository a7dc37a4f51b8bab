/** The tab "Claims" of a client or an issuer: custom claims and the token preview. */
import type { ComponentProps } from 'react'
import type { Tab } from '../../components/detail-page'
import { useConsoleContext } from '../../console-context'
import { EditForm } from '../../form/edit-form'
import type { Field } from '../../form/fields'
import { TokenPreview } from './token-preview'

interface ClaimsInput {
  settings?: Record<string, unknown> | null
}
interface Versioned {
  id: string
  updatedAt: number
}
type FormProps<Resource extends Versioned> = Pick<
  ComponentProps<typeof EditForm<ClaimsInput, Resource>>,
  'resource' | 'editable' | 'save' | 'reload'
>

const claimFields: Field<ClaimsInput>[] = [
  {
    kind: 'claims',
    path: 'settings.openid.claims',
    label: 'Claims',
    hint: 'Scopes and claims of the organization are left out if the user selects no organization; groups are then those of all organizations that the client may see. A claim without a value is left out.',
  },
]

/**
 * Returns the tab.
 * @param form the properties of the forms of the page
 * @param clientId the client of the page; undefined for an issuer
 */
export const claimsTab = <Resource extends Versioned>(form: FormProps<Resource>, clientId?: string): Tab => ({
  path: 'claims',
  label: 'Claims',
  content: () => <Claims form={form} clientId={clientId} />,
})

function Claims<Resource extends Versioned>({
  form,
  clientId,
}: {
  form: FormProps<Resource>
  clientId: string | undefined
}) {
  const { may } = useConsoleContext()
  return (
    <>
      <EditForm
        key="claims"
        title="Custom claims"
        text={
          clientId
            ? 'Claims that tokens of this client contain in addition to those of the issuer. A claim here replaces a claim of the issuer with the same name.'
            : 'Claims that the tokens of every client of this issuer contain. A client can add its own claims.'
        }
        fields={claimFields}
        {...form}
      />
      {may('previewToken') && <TokenPreview clientId={clientId} />}
    </>
  )
}
