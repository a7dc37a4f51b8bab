import { Button, Group } from '@mantine/core'
import { createAuthMethod, createIssuer } from 'documents/issuers'
import { createFirstAccount } from 'documents/welcome'
import { useMemo, useRef } from 'react'
import { Card } from '../../components/card'
import type { Secret } from '../../components/secret'
import type { Field } from '../../form/fields'
import { FormFields } from '../../form/form-fields'
import { useForm } from '../../form/use-form'
import { useMutation } from '../../graphql/hooks'
import { useConsoleSession } from '../../shell/console-session'

interface IssuerFormValues {
  account: string
  name: string
  signup: string
}

const accountField: Field<IssuerFormValues> = {
  kind: 'text',
  path: 'account',
  label: 'Account name',
  hint: 'For example, your company or product. An account contains issuers, API keys and webhooks; a deployment can have many.',
  required: true,
  placeholder: 'Acme',
}
const issuerFields: Field<IssuerFormValues>[] = [
  {
    kind: 'text',
    path: 'name',
    label: 'Issuer name',
    hint: 'For example, the group of users that signs in at this issuer.',
    required: true,
    placeholder: 'Customers',
  },
  {
    kind: 'select',
    path: 'signup',
    label: 'Who can sign up',
    options: [
      { value: 'invite_only', label: 'Invited users only' },
      { value: 'open', label: 'Anyone' },
    ],
  },
]

interface Props {
  /** The account of the new issuer; if undefined, an account is created as well. */
  accountId: string | undefined
  onAccount: (accountId: string, key: Secret[]) => void
  onCreated: (accountId: string, issuerId: string) => void
}

export function IssuerStep({ accountId, onAccount, onCreated }: Props) {
  const mutate = useMutation()
  const currentUser = useConsoleSession()?.user
  const fields = useMemo(() => (accountId ? issuerFields : [accountField, ...issuerFields]), [accountId])
  const form = useForm<IssuerFormValues>(fields, { name: 'Customers', signup: 'invite_only' })
  // If creating the issuer fails, the next attempt uses the account that was already created.
  const createdAccountId = useRef(accountId)
  const typed = form.values as unknown as IssuerFormValues

  const create = async () => {
    let key: Secret[] | undefined
    if (!createdAccountId.current) {
      const input = { name: typed.account, ...(currentUser && { ownerUserId: currentUser.id }) }
      const { createAccount } = await mutate(createFirstAccount, { input })
      createdAccountId.current = createAccount.account.id
      const { id, secretPlain } = createAccount.apiKey
      key = [{ label: 'API key', value: `${id}:${secretPlain}` }]
      onAccount(createdAccountId.current, key)
    }
    const account = createdAccountId.current
    const input = { name: typed.name, settings: { signup: { mode: typed.signup } } }
    const { createIssuer: issuer } = await mutate(createIssuer, { accountId: account, input })
    // Without an authentication method, users could not sign in.
    const password = { name: 'Password', method: 'password' as const }
    await mutate(createAuthMethod, { accountId: account, issuerId: issuer.id, input: password })
    onCreated(account, issuer.id)
  }
  return (
    <Card>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          void form.submit(create)
        }}
      >
        <FormFields form={form} />
        <Group justify="flex-end" mt="lg">
          <Button type="submit" loading={form.busy}>
            Create issuer
          </Button>
        </Group>
      </form>
    </Card>
  )
}
