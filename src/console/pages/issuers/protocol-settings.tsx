/** The protocol settings of an issuer: client assertions and the security profile. */
import type { UpdateIssuerInput } from 'documents/types'
import { type ComponentProps, useState } from 'react'
import { ConfirmDialog } from '../../components/confirm-dialog'
import { EditForm } from '../../form/edit-form'
import { type Field, getByPath } from '../../form/fields'

const PROFILE = 'settings.security.openid_policy.profile'

const fields: Field<UpdateIssuerInput>[] = [
  {
    kind: 'toggle',
    path: 'settings.security.openid_policy.client_assertions.enabled',
    label: 'Allow client assertions (private_key_jwt)',
    hint: 'Clients can authenticate with a JWT that they sign with their own key, instead of a secret (RFC 7523).',
  },
  {
    kind: 'select',
    path: PROFILE,
    label: 'Security profile',
    hint: 'FAPI 2.0 is for banks and others who need its guarantees. Ordinary applications do not support it.',
    options: [
      { value: '', label: 'None' },
      { value: 'fapi2', label: 'FAPI 2.0' },
    ],
  },
]

interface VersionedIssuer {
  id: string
  updatedAt: number
  name: string
}

type Props = Pick<
  ComponentProps<typeof EditForm<UpdateIssuerInput, VersionedIssuer>>,
  'resource' | 'editable' | 'save' | 'reload'
>

const switchesFapiOn = (input: UpdateIssuerInput): boolean => getByPath(input, PROFILE) === 'fapi2'

export function ProtocolSettings(formProps: Props) {
  const [answer, setAnswer] = useState<(confirmed: boolean) => void>()
  const confirm = (input: UpdateIssuerInput): Promise<boolean> =>
    switchesFapiOn(input) ? new Promise((resolve) => setAnswer(() => resolve)) : Promise.resolve(true)
  const close = (confirmed: boolean) => {
    answer?.(confirmed)
    setAnswer(undefined)
  }
  return (
    <>
      <EditForm
        title="Protocol"
        text="Rules of OpenID Connect for all clients of this issuer."
        fields={fields}
        {...formProps}
        confirm={confirm}
      />
      {answer && (
        <ConfirmDialog
          title="Switch on FAPI 2.0?"
          label="Switch on FAPI 2.0"
          onConfirm={async () => close(true)}
          onClose={() => close(false)}
        >
          <p>
            The FAPI 2.0 Security Profile applies to every client of {formProps.resource.name} immediately. Each client
            must:
          </p>
          <ul>
            <li>push its authorization requests (RFC 9126),</li>
            <li>authenticate with private_key_jwt instead of a secret,</li>
            <li>use DPoP for its tokens (RFC 9449), and PKCE with S256,</li>
            <li>have redirect URIs with https, and not use the signing algorithm RS256.</li>
          </ul>
          <p>
            Clients that do not, among them all public clients, can no longer sign users in or get tokens. Client
            assertions are allowed, authorization codes are valid for 60 seconds, and refresh tokens are not rotated.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
