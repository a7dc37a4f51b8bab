/** Makes an API key; its secret is shown once. */
import { createApiKey } from 'documents/api-keys'
import { useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { CreateDialog } from '../../form/create-dialog'
import { useRun } from '../../graphql/hooks'
import { SecretDialog } from '../../parts/secret'
import { accountHref, usePlace } from '../../place'
import { generalFields, type KeyForm, reachFields, restrictionsFor } from './fields'
import { useKeyChoices } from './use-choices'

export function CreateApiKey({ onClose }: { onClose: () => void }) {
  const { accountId } = usePlace()
  const [, navigate] = useLocation()
  const run = useRun()
  const choices = useKeyChoices()
  const [made, setMade] = useState<{ id: string; secret: string }>()
  const fields = useMemo(
    () => choices && [...generalFields, ...reachFields(choices.scopes, choices.issuers)],
    [choices],
  )
  const create = async ({ reach, restrictions, ...rest }: KeyForm) => {
    const input = { ...rest, restrictions: { ...restrictionsFor(reach ?? 'some', restrictions ?? {}) } }
    const { createApiKey: key } = await run(createApiKey, { accountId, input }, { typenames: ['ApiKey'] })
    setMade({ id: key.id, secret: key.secretPlain ?? '' })
  }
  if (made) {
    return (
      <SecretDialog
        title="Your API key"
        secrets={[
          { label: 'Key id', value: made.id },
          { label: 'Secret', value: made.secret },
        ]}
        fileName={`${made.id}.txt`}
        text="Send both with each request: Authorization: Basic, with the id as name and the secret as password."
        onClose={() => navigate(`${accountHref(accountId)}/api-keys/${made.id}`)}
      />
    )
  }
  if (!fields) return null
  return (
    <CreateDialog
      title="New API key"
      fields={fields}
      initial={{ reach: 'some' }}
      submit="Make key"
      create={create}
      onClose={onClose}
    />
  )
}
