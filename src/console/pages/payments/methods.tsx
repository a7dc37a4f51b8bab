/**
 * The payment methods of an account. At most one is active. While one is active, priced operations are charged, unless
 * an operator has set another billing mode.
 */
import { ActionIcon, Button, Menu } from '@mantine/core'
import { createPaymentMethod, deletePaymentMethod, paymentMethods, updatePaymentMethod } from 'documents/payments'
import type { CreatePaymentMethodInput, PaymentMethodFieldsFragment, UpdatePaymentMethodInput } from 'documents/types'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { ConfirmDialog } from '../../components/confirm-dialog'
import { Icon } from '../../components/icon'
import { Page } from '../../components/page'
import { RelativeTime, StatusBadge } from '../../components/values'
import { useConsoleContext } from '../../console-context'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { showError, useMutation } from '../../graphql/hooks'
import { List } from '../../list/list-page'
import { NameCell } from '../../list/list-table'

type Method = PaymentMethodFieldsFragment

const fields: Field<UpdatePaymentMethodInput>[] = [
  { kind: 'text', path: 'label', label: 'Label', placeholder: 'Treasury wallet' },
  {
    kind: 'list',
    path: 'allowedPayerWallets',
    label: 'Allowed wallets',
    hint: 'Wallets that can pay with this method. Leave empty to allow all.',
    placeholder: '0x…',
  },
]

export default function PaymentMethods() {
  const { accountId, may } = useConsoleContext()
  const [params, setParams] = useSearchParams()
  const mutate = useMutation()
  const [editing, setEditing] = useState<Method>()
  const [removing, setRemoving] = useState<Method>()
  const open = () => setParams({ new: '1' }, { replace: true })
  const close = () => setParams({}, { replace: true })
  const typenames = ['PaymentMethod', 'Account']
  const update = (method: Method, input: UpdatePaymentMethodInput, successMessage: string) =>
    mutate(updatePaymentMethod, { accountId, methodId: method.id, input }, { successMessage, typenames })
  const create = async (typed: UpdatePaymentMethodInput) => {
    const input: CreatePaymentMethodInput = { ...typed, type: 'x402' }
    await mutate(createPaymentMethod, { accountId, input }, { successMessage: 'Payment method added', typenames })
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
      lead="By default, while a payment method is active, priced operations of this account are paid from its credit."
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
            header: 'Method',
            cell: (method) => (
              <NameCell mark={<Icon name="card" />} name={nameOf(method)} text={`${method.type}, ${method.id}`} />
            ),
          },
          {
            header: 'Allowed wallets',
            width: '180px',
            hideOnMobile: true,
            cell: ({ allowedPayerWallets: wallets }) =>
              wallets?.length ? `${wallets.length} ${wallets.length === 1 ? 'wallet' : 'wallets'}` : 'all',
          },
          { header: 'Status', width: '120px', cell: ({ status }) => <StatusBadge value={status} /> },
          {
            header: 'Added',
            width: '130px',
            hideOnMobile: true,
            cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
          },
          {
            header: '',
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
                      Edit …
                    </Menu.Item>
                    <Menu.Item
                      leftSection={<Icon name={method.enabled ? 'pause' : 'play'} />}
                      onClick={() =>
                        void update(
                          method,
                          { enabled: !method.enabled },
                          method.enabled ? 'Payment method disabled' : 'Payment method enabled',
                        ).catch(showError)
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
          title: 'No payment methods yet',
          text: 'By default, nothing is charged without a payment method. While one is active, priced operations are paid from prepaid credit.',
          ...(may('createPaymentMethod') && { action: 'Add payment method', onAction: open }),
        }}
      />
      {params.has('new') && may('createPaymentMethod') && (
        <CreateDialog
          title="Add payment method"
          fields={fields}
          submitLabel="Add payment method"
          create={create}
          onClose={close}
        />
      )}
      {editing && (
        <CreateDialog
          title="Edit payment method"
          fields={fields}
          initial={editing}
          submitLabel="Save changes"
          create={save}
          onClose={() => setEditing(undefined)}
        />
      )}
      {removing && (
        <ConfirmDialog
          title="Remove payment method"
          label="Remove payment method"
          name={nameOf(removing)}
          onConfirm={() =>
            mutate(
              deletePaymentMethod,
              { accountId, methodId: removing.id },
              { successMessage: 'Payment method removed', typenames },
            )
          }
          onClose={() => setRemoving(undefined)}
        >
          This method will no longer be able to top up credit. It stays in the list with the status removed.
        </ConfirmDialog>
      )}
    </Page>
  )
}
