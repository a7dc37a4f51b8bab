/** The dialog that creates an API key and shows the secret of the new key once. */
import { createApiKey } from 'documents/api-keys'
import { useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { SecretDialog } from '../../components/secret'
import { accountHref, useConsoleContext } from '../../console-context'
import { CreateDialog } from '../../form/create-dialog'
import { useMutation } from '../../graphql/hooks'
import { accessFields, buildRestrictions, generalFields, type KeyForm } from './fields'
import { useKeyOptions } from './use-key-options'

export function CreateApiKey({ onClose }: { onClose: () => void }) {
  const { accountId } = useConsoleContext()
  const [, navigate] = useLocation()
  const mutate = useMutation()
  const keyOptions = useKeyOptions()
  const [created, setCreated] = useState<{ id: string; secret: string }>()
  const fields = useMemo(
    () => keyOptions && [...generalFields, ...accessFields(keyOptions.scopes, keyOptions.issuers)],
    [keyOptions],
  )
  const create = async ({ accessMode, restrictions, ...rest }: KeyForm) => {
    const input = { ...rest, restrictions: { ...buildRestrictions(accessMode ?? 'some', restrictions ?? {}) } }
    const { createApiKey: key } = await mutate(createApiKey, { accountId, input }, { typenames: ['ApiKey'] })
    setCreated({ id: key.id, secret: key.secretPlain ?? '' })
  }
  if (created) {
    return (
      <SecretDialog
        title="Your API key"
        secrets={[
          { label: 'Key ID', value: created.id },
          { label: 'Secret', value: created.secret },
        ]}
        fileName={`${created.id}.txt`}
        text="Send the key ID and the secret with each request, as username and password of HTTP Basic authentication."
        onClose={() => navigate(`${accountHref(accountId)}/api-keys/${created.id}`)}
      />
    )
  }
  if (!fields) return null
  return (
    <CreateDialog
      title="Create API key"
      fields={fields}
      initial={{ accessMode: 'some' }}
      submitLabel="Create key"
      create={create}
      onClose={onClose}
    />
  )
}
