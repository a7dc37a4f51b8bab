import { Button, Group } from '@mantine/core'
import { createAuthMethod, createIssuer } from 'documents/issuers'
import { createFirstAccount } from 'documents/welcome'
import { useMemo, useRef } from 'react'
import type { Field } from '../../form/fields'
import { FormFields } from '../../form/form-fields'
import { useForm } from '../../form/use-form'
import { useRun } from '../../graphql/hooks'
import { Card } from '../../parts/card'
import type { Secret } from '../../parts/secret'
import { useVisit } from '../../shell/person'

interface Typed {
  account: string
  name: string
  signup: string
}

const accountField: Field<Typed> = {
  kind: 'text',
  path: 'account',
  label: 'Your company or product',
  hint: 'Its account holds issuers, keys and webhooks. One deployment has as many as you like.',
  required: true,
  placeholder: 'Acme',
}
const issuerFields: Field<Typed>[] = [
  { kind: 'text', path: 'name', label: 'Issuer', hint: 'Who signs in here?', required: true, placeholder: 'Customers' },
  {
    kind: 'choice',
    path: 'signup',
    label: 'Who may sign up',
    options: [
      { value: 'invite_only', label: 'Only who is invited' },
      { value: 'open', label: 'Everybody' },
    ],
  },
]

interface Props {
  /** To put the issuer into; without one an account is made as well. */
  accountId: string | undefined
  onAccount: (accountId: string, key: Secret[]) => void
  onMade: (accountId: string, issuerId: string) => void
}

export function IssuerStep({ accountId, onAccount, onMade }: Props) {
  const run = useRun()
  const person = useVisit()?.user
  const fields = useMemo(() => (accountId ? issuerFields : [accountField, ...issuerFields]), [accountId])
  const form = useForm<Typed>(fields, { name: 'Customers', signup: 'invite_only' })
  // Where making the issuer fails, the next try goes on with the account that there is already.
  const made = useRef(accountId)
  const typed = form.values as unknown as Typed

  const create = async () => {
    let key: Secret[] | undefined
    if (!made.current) {
      const input = { name: typed.account, ...(person && { ownerUserId: person.id }) }
      const { createAccount } = await run(createFirstAccount, { input })
      made.current = createAccount.account.id
      const { id, secretPlain } = createAccount.apiKey
      key = [{ label: 'API key', value: `${id}:${secretPlain}` }]
      onAccount(made.current, key)
    }
    const account = made.current
    const input = { name: typed.name, settings: { signup: { mode: typed.signup } } }
    const { createIssuer: issuer } = await run(createIssuer, { accountId: account, input })
    // An issuer without a way to sign in is of no use to anybody.
    const password = { name: 'Password', method: 'password' as const }
    await run(createAuthMethod, { accountId: account, issuerId: issuer.id, input: password })
    onMade(account, issuer.id)
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
            Make issuer
          </Button>
        </Group>
      </form>
    </Card>
  )
}
