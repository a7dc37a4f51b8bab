/** Asks for confirmation of a destructive action. For the most dangerous actions, the user has to type a name. */
import { Button, Group, Modal, Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { showError } from '../graphql/hooks'
import { Card } from './card'
import classes from './confirm.module.css'

interface Props {
  title: string
  /** A description of the consequences. */
  children: ReactNode
  /** Label of the confirm button: a verb. */
  label: string
  /** A name that the user has to type to confirm; without it, the button is enough. */
  name?: string
  onConfirm: () => Promise<unknown>
  onClose: () => void
}

export function ConfirmDialog({ title, children, label, name, onConfirm, onClose }: Props) {
  const [typed, setTyped] = useState('')
  const [busy, setBusy] = useState(false)
  const canConfirm = name === undefined || typed === name
  const confirm = async () => {
    if (!canConfirm) return
    setBusy(true)
    try {
      await onConfirm()
      onClose()
    } catch (error) {
      showError(error)
      setBusy(false)
    }
  }
  return (
    <Modal opened onClose={onClose} title={title}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void confirm()
        }}
      >
        <Text size="sm" component="div">
          {children}
        </Text>
        {name !== undefined && (
          <TextInput
            mt="md"
            data-autofocus
            autoComplete="off"
            label={
              <>
                Type <strong>{name}</strong> to confirm
              </>
            }
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
        )}
        <Group justify="flex-end" mt="lg" gap="xs">
          <Button variant="default" onClick={onClose} disabled={busy}>
            Cancel
          </Button>
          <Button type="submit" color="red" disabled={!canConfirm} loading={busy}>
            {label}
          </Button>
        </Group>
      </form>
    </Modal>
  )
}

export interface DangerousAction {
  title: string
  text: string
  label: string
  /** A description of the consequences, for the confirmation dialog. */
  warning: string
  name?: string
  onConfirm: () => Promise<unknown>
}

/** The last section of a page: destructive actions, each with a confirmation dialog. */
export function DangerZone({ actions }: { actions: readonly DangerousAction[] }) {
  const [openAction, setOpenAction] = useState<DangerousAction>()
  if (actions.length === 0) return null
  return (
    <Card title="Danger zone" tone="danger">
      {actions.map((action) => (
        <div key={action.title} className={classes.row}>
          <div>
            <Text fw={550} size="sm">
              {action.title}
            </Text>
            <Text c="dimmed" size="sm">
              {action.text}
            </Text>
          </div>
          <Button variant="outline" color="red" onClick={() => setOpenAction(action)}>
            {action.label}
          </Button>
        </div>
      ))}
      {openAction && (
        <ConfirmDialog
          title={openAction.title}
          label={openAction.label}
          onConfirm={openAction.onConfirm}
          onClose={() => setOpenAction(undefined)}
          {...(openAction.name !== undefined && { name: openAction.name })}
        >
          {openAction.warning}
        </ConfirmDialog>
      )}
    </Card>
  )
}
