/** The protocol settings of a client: how it authenticates, and which security extensions it must use. */
import type { UpdateClientInput } from 'documents/types'
import { type ComponentProps, useState } from 'react'
import { ConfirmDialog } from '../../components/confirm-dialog'
import { TextLink } from '../../components/link'
import { issuerHref, useConsoleContext } from '../../console-context'
import { EditForm } from '../../form/edit-form'
import { type Field, getByPath, type Option } from '../../form/fields'
import { applicationTypeOf } from './application-types'

const METHOD = 'settings.openid.token_endpoint_auth_method'

interface ProtocolClient {
  id: string
  updatedAt: number
  confidential: boolean
  settings: Record<string, unknown>
}

interface Props {
  client: ProtocolClient
  /** `settings` of the issuer. */
  issuerSettings: Record<string, unknown>
  formProps: Pick<
    ComponentProps<typeof EditForm<UpdateClientInput, ProtocolClient>>,
    'resource' | 'editable' | 'save' | 'reload'
  >
}

const methodOptions: readonly Option[] = [
  { value: '', label: 'Client secret, in the header or in the form' },
  { value: 'client_secret_basic', label: 'Client secret in the header (client_secret_basic)' },
  { value: 'client_secret_post', label: 'Client secret in the form (client_secret_post)' },
  { value: 'private_key_jwt', label: 'Signed assertion (private_key_jwt)' },
]

/** Returns true for a client that authenticates with a signed assertion, and therefore has no secret. */
export const usesAssertions = (client: { settings: Record<string, unknown> }): boolean =>
  getByPath(client, METHOD) === 'private_key_jwt'

/**
 * The fields for a client. A public client does not authenticate, and a machine-to-machine client has no sign-in.
 * @param assertionsAllowed whether the issuer allows client assertions
 */
function fieldsFor(client: ProtocolClient, assertionsAllowed: boolean): Field<UpdateClientInput>[] {
  const needsKeys: NonNullable<Field<UpdateClientInput>['visibleWhen']> = (values) =>
    values[METHOD] === 'private_key_jwt'
  const authenticationFields: Field<UpdateClientInput>[] = client.confidential
    ? [
        {
          kind: 'select',
          path: METHOD,
          label: 'Client authentication',
          hint: 'How the application proves its identity at the token endpoint. With a signed assertion there is no shared secret.',
          options: methodOptions.filter(
            ({ value }) => value !== 'private_key_jwt' || assertionsAllowed || usesAssertions(client),
          ),
        },
        {
          kind: 'url',
          path: 'settings.openid.jwks_uri',
          label: 'JWKS URL',
          hint: 'Where the application publishes its public keys. Set this or the keys themselves.',
          placeholder: 'https://app.example.com/.well-known/jwks.json',
          visibleWhen: needsKeys,
        },
        {
          kind: 'json',
          path: 'settings.openid.jwks',
          label: 'Public keys (JWKS)',
          hint: 'A JSON object with "keys". Public keys only.',
          emptyIsNull: true,
          visibleWhen: needsKeys,
        },
      ]
    : [
        {
          kind: 'select',
          path: METHOD,
          label: 'Client authentication',
          hint: 'A public client has no secret and must use PKCE.',
          defaultValue: 'none',
          options: [{ value: 'none', label: 'None (public client)' }],
        },
      ]
  const requestFields: Field<UpdateClientInput>[] =
    applicationTypeOf(client).name === 'm2m'
      ? []
      : [
          {
            kind: 'toggle',
            path: 'settings.openid.require_pushed_authorization_requests',
            label: 'Require pushed authorization requests',
            hint: 'The application sends the parameters of a sign-in directly to the issuer, so that they cannot be read or changed in the browser (RFC 9126).',
          },
        ]
  return [
    ...authenticationFields,
    ...requestFields,
    {
      kind: 'toggle',
      path: 'settings.openid.dpop_bound_access_tokens',
      label: 'Require DPoP-bound access tokens',
      hint: 'The application proves with each request that it holds a key, so that a stolen token is useless (RFC 9449).',
    },
  ]
}

/** Removes the keys from an input that changes to another method, because only signed assertions use them. */
function withoutUnusedKeys(input: UpdateClientInput): UpdateClientInput {
  const openid = getByPath(input, 'settings.openid') as Record<string, unknown> | undefined
  const method = openid?.['token_endpoint_auth_method']
  if (method === undefined || method === 'private_key_jwt') return input
  return { ...input, settings: { ...input.settings, openid: { ...openid, jwks: null, jwks_uri: null } } }
}

export function ProtocolSettings({ client, issuerSettings, formProps }: Props) {
  const { accountId, issuerId } = useConsoleContext()
  const [answer, setAnswer] = useState<(confirmed: boolean) => void>()
  const isFapi = getByPath(issuerSettings, 'security.openid_policy.profile') === 'fapi2'
  const assertionsAllowed =
    isFapi || getByPath(issuerSettings, 'security.openid_policy.client_assertions.enabled') === true
  const confirm = (input: UpdateClientInput): Promise<boolean> =>
    getByPath(input, METHOD) === 'private_key_jwt'
      ? new Promise((resolve) => setAnswer(() => resolve))
      : Promise.resolve(true)
  const close = (confirmed: boolean) => {
    answer?.(confirmed)
    setAnswer(undefined)
  }
  const issuerSettingsLink = (
    <TextLink href={`${issuerHref(accountId, issuerId)}/settings/protocol`} size="sm" underline="always">
      Open the protocol settings of the issuer
    </TextLink>
  )
  return (
    <>
      <EditForm
        key={`protocol ${client.confidential}`}
        title="Protocol"
        text={
          <>
            Stronger security for the requests of this client. The application must support what you require.
            {isFapi && (
              <>
                {' '}
                This issuer uses the FAPI 2.0 Security Profile, so every client must use private_key_jwt, pushed
                authorization requests, DPoP and PKCE, whatever is set here. {issuerSettingsLink}
              </>
            )}
            {client.confidential && !assertionsAllowed && (
              <> Signed assertions (private_key_jwt) are off. {issuerSettingsLink}</>
            )}
          </>
        }
        fields={fieldsFor(client, assertionsAllowed)}
        {...formProps}
        save={(input, ifMatch) => formProps.save(withoutUnusedKeys(input), ifMatch)}
        confirm={confirm}
      />
      {answer && (
        <ConfirmDialog
          title="Use signed assertions?"
          label="Delete the secret"
          onConfirm={async () => close(true)}
          onClose={() => close(false)}
        >
          The secrets of this client are deleted immediately. The application must sign its assertions with a key of the
          JWKS from then on.
        </ConfirmDialog>
      )}
    </>
  )
}
