/** How an account pays. At most one method is active; while there is one, priced operations are charged. */
import { ActionIcon, Button, Menu } from '@mantine/core'
import { createPaymentMethod, deletePaymentMethod, paymentMethods, updatePaymentMethod } from 'documents/payments'
import type { CreatePaymentMethodInput, PaymentMethodFieldsFragment, UpdatePaymentMethodInput } from 'documents/types'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { tellFault, useRun } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Confirm } from '../../parts/confirm'
import { Icon } from '../../parts/icon'
import { Page } from '../../parts/page'
import { Moment, Status } from '../../parts/values'
import { usePlace } from '../../place'

type Method = PaymentMethodFieldsFragment

const fields: Field<UpdatePaymentMethodInput>[] = [
  { kind: 'text', path: 'label', label: 'Label', placeholder: 'Treasury wallet' },
  {
    kind: 'list',
    path: 'allowedPayerWallets',
    label: 'Wallets that may pay',
    hint: 'Empty: whoever pays.',
    placeholder: '0x…',
  },
]

export default function PaymentMethods() {
  const { accountId, may } = usePlace()
  const [params, setParams] = useSearchParams()
  const run = useRun()
  const [editing, setEditing] = useState<Method>()
  const [removing, setRemoving] = useState<Method>()
  const open = () => setParams({ new: '1' }, { replace: true })
  const close = () => setParams({}, { replace: true })
  const typenames = ['PaymentMethod', 'Account']
  const update = (method: Method, input: UpdatePaymentMethodInput, done: string) =>
    run(updatePaymentMethod, { accountId, methodId: method.id, input }, { done, typenames })
  const create = async (typed: UpdatePaymentMethodInput) => {
    const input: CreatePaymentMethodInput = { ...typed, type: 'x402' }
    await run(createPaymentMethod, { accountId, input }, { done: 'Payment method added', typenames })
    close()
  }
  const save = async (typed: UpdatePaymentMethodInput) => {
    const { label = null, allowedPayerWallets = null } = typed
    await update(editing!, { label, allowedPayerWallets }, 'Payment method saved')
    setEditing(undefined)
  }
  const nameOf = ({ label, type }: Method) => label ?? type
  return (
    <Page
      title="Payment methods"
      lead="While one is active, priced operations of this account are paid from its credit."
      actions={
        may('createPaymentMethod') && (
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            Add payment method
          </Button>
        )
      }
    >
      <List
        label="Payment methods"
        query={paymentMethods}
        variables={{ accountId }}
        page={(data) => data.paymentMethods}
        typename="PaymentMethod"
        columns={[
          {
            head: 'Method',
            cell: (method) => (
              <Named mark={<Icon name="card" />} name={nameOf(method)} text={`${method.type}, ${method.id}`} />
            ),
          },
          {
            head: 'Who may pay',
            width: '180px',
            wide: true,
            cell: ({ allowedPayerWallets: wallets }) =>
              wallets?.length ? `${wallets.length} ${wallets.length === 1 ? 'wallet' : 'wallets'}` : 'whoever does',
          },
          { head: 'Status', width: '120px', cell: ({ status }) => <Status value={status} /> },
          { head: 'Added', width: '130px', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
          {
            head: '',
            width: '76px',
            align: 'right',
            cell: (method) =>
              method.status !== 'removed' &&
              may('updatePaymentMethod') && (
                <Menu position="bottom-end">
                  <Menu.Target>
                    <ActionIcon variant="subtle" color="gray" aria-label={`${nameOf(method)}: actions`}>
                      <Icon name="chevronDown" />
                    </ActionIcon>
                  </Menu.Target>
                  <Menu.Dropdown>
                    <Menu.Item leftSection={<Icon name="settings" />} onClick={() => setEditing(method)}>
                      Change …
                    </Menu.Item>
                    <Menu.Item
                      leftSection={<Icon name={method.enabled ? 'pause' : 'play'} />}
                      onClick={() =>
                        void update(
                          method,
                          { enabled: !method.enabled },
                          method.enabled ? 'Payment method disabled' : 'Payment method enabled',
                        ).catch(tellFault)
                      }
                    >
                      {method.enabled ? 'Disable' : 'Enable'}
                    </Menu.Item>
                    {may('deletePaymentMethod') && (
                      <Menu.Item color="red" leftSection={<Icon name="trash" />} onClick={() => setRemoving(method)}>
                        Remove …
                      </Menu.Item>
                    )}
                  </Menu.Dropdown>
                </Menu>
              ),
          },
        ]}
        empty={{
          icon: 'card',
          title: 'No payment method',
          text: 'Without one nothing is charged. With one, operations that have a price are paid from prepaid credit.',
          ...(may('createPaymentMethod') && { action: 'Add payment method', onAction: open }),
        }}
      />
      {params.has('new') && may('createPaymentMethod') && (
        <CreateDialog title="Add a payment method" fields={fields} submit="Add" create={create} onClose={close} />
      )}
      {editing && (
        <CreateDialog
          title="Change the payment method"
          fields={fields}
          initial={editing}
          submit="Save"
          create={save}
          onClose={() => setEditing(undefined)}
        />
      )}
      {removing && (
        <Confirm
          title="Remove the payment method"
          label="Remove"
          name={nameOf(removing)}
          run={() =>
            run(
              deletePaymentMethod,
              { accountId, methodId: removing.id },
              { done: 'Payment method removed', typenames },
            )
          }
          onClose={() => setRemoving(undefined)}
        >
          Credit can no longer be topped up with it. It stays in the list as removed.
        </Confirm>
      )}
    </Page>
  )
}
