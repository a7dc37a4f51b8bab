/** Asks somebody to sign in again, in a window of its own, and hears when that is done. */
import { Alert, Button, Group, Modal, Text } from '@mantine/core'
import { useEffect, useState } from 'react'
import { usePerson } from '../shell/person'
import { CHANNEL, type Wish } from './wish'

type State = 'asked' | 'waiting' | 'blocked'

/** Escape would close the dialogue below as well, and with it what was typed there. */
const kept = { 'data-mantine-stop-propagation': true }

const addressOf = (maxAge: number, returnTo: string): string =>
  `/console/sign-in?${new URLSearchParams({ max_age: String(maxAge), return_to: returnTo })}`

/** Another person is another page. */
async function isStill(id: string | undefined): Promise<boolean> {
  const response = await fetch('/console/session?optional')
  const { user } = (await response.json()) as { user: { id: string } | null }
  return user !== null && user.id === id
}

export default function StepUp({ wish: { maxAge, end } }: { wish: Wish }) {
  const person = usePerson()
  const [state, setState] = useState<State>('asked')
  useEffect(() => {
    const channel = new BroadcastChannel(CHANNEL)
    channel.onmessage = async () => {
      if (await isStill(person?.id)) end(true)
      else location.reload()
    }
    return () => channel.close()
  }, [person, end])

  const open = () => {
    const address = addressOf(maxAge, '/console/signed-in')
    setState(window.open(address, '_blank', 'popup,width=480,height=720') ? 'waiting' : 'blocked')
  }
  return (
    <Modal opened onClose={() => end(false)} title="Sign in again" withCloseButton={false} closeOnClickOutside={false}>
      <Text size="sm">
        What you are about to do reaches far, and you signed in a while ago. Sign in again in a window of its own: this
        page stays as it is, and goes on when you are back.
      </Text>
      {state === 'waiting' && (
        <Text size="sm" c="dimmed" mt="md" role="status">
          Waiting for the other window…
        </Text>
      )}
      {state === 'blocked' && (
        <Alert color="orange" mt="md" title="Your browser opened no window">
          Allow windows for this address, or{' '}
          <a {...kept} href={addressOf(maxAge, location.pathname + location.search)}>
            sign in on this page
          </a>
          : what you have typed here is lost then.
        </Alert>
      )}
      <Group justify="flex-end" mt="lg" gap="xs">
        <Button {...kept} variant="default" onClick={() => end(false)}>
          Not now
        </Button>
        <Button {...kept} onClick={open} data-autofocus>
          {state === 'asked' ? 'Sign in again' : 'Open the window again'}
        </Button>
      </Group>
    </Modal>
  )
}
