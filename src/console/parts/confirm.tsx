/** Asks before what cannot be undone; what hurts most, with its name typed. */
import { Button, Group, Modal, Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { tellFault } from '../graphql/hooks'
import { Card } from './card'
import classes from './confirm.module.css'

interface Props {
  title: string
  /** What will happen. */
  children: ReactNode
  /** Of the button: what is done, in a verb. */
  label: string
  /** To be typed first. */
  name?: string
  run: () => Promise<unknown>
  onClose: () => void
}

export function Confirm({ title, children, label, name, run, onClose }: Props) {
  const [typed, setTyped] = useState('')
  const [busy, setBusy] = useState(false)
  const ready = name === undefined || typed === name
  const go = async () => {
    if (!ready) return
    setBusy(true)
    try {
      await run()
      onClose()
    } catch (fault) {
      tellFault(fault)
      setBusy(false)
    }
  }
  return (
    <Modal opened onClose={onClose} title={title}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void go()
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
          <Button type="submit" color="red" disabled={!ready} loading={busy}>
            {label}
          </Button>
        </Group>
      </form>
    </Modal>
  )
}

export interface Danger {
  title: string
  text: string
  label: string
  /** What the dialogue says will happen. */
  warning: string
  name?: string
  run: () => Promise<unknown>
}

/** The last block of a settings page: what cannot be undone, each with its own question. */
export function DangerZone({ dangers }: { dangers: readonly Danger[] }) {
  const [open, setOpen] = useState<Danger>()
  if (dangers.length === 0) return null
  return (
    <Card title="Danger zone" tone="danger">
      {dangers.map((danger) => (
        <div key={danger.title} className={classes.row}>
          <div>
            <Text fw={550} size="sm">
              {danger.title}
            </Text>
            <Text c="dimmed" size="sm">
              {danger.text}
            </Text>
          </div>
          <Button variant="outline" color="red" onClick={() => setOpen(danger)}>
            {danger.label}
          </Button>
        </div>
      ))}
      {open && (
        <Confirm
          title={open.title}
          label={open.label}
          run={open.run}
          onClose={() => setOpen(undefined)}
          {...(open.name !== undefined && { name: open.name })}
        >
          {open.warning}
        </Confirm>
      )}
    </Card>
  )
}
