/** Asks the user to sign in again in a popup window, which reports when the sign-in is complete. */
import { Alert, Button, Group, Modal, Text } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useCurrentUser } from '../shell/console-session'
import { SIGNED_IN_CHANNEL, type StepUpRequest } from './request'

type StepUpState = 'prompt' | 'waiting' | 'blocked'

/** Attributes that keep Escape from also closing a dialog behind this dialog, whose unsaved input would be lost. */
const stopEscapePropagation = { 'data-mantine-stop-propagation': true }

const signInUrl = (maxAge: number, returnTo: string): string =>
  `/console/sign-in?${new URLSearchParams({ max_age: String(maxAge), return_to: returnTo })}`

/** Returns true if the user with this id is signed in. For another user, the page must be reloaded. */
async function isSameUser(id: string | undefined): Promise<boolean> {
  const response = await fetch('/console/session?optional')
  const { user } = (await response.json()) as { user: { id: string } | null }
  return user !== null && user.id === id
}

export default function StepUp({ request: { maxAge, complete } }: { request: StepUpRequest }) {
  const currentUser = useCurrentUser()
  const [state, setState] = useState<StepUpState>('prompt')
  useEffect(() => {
    const channel = new BroadcastChannel(SIGNED_IN_CHANNEL)
    channel.onmessage = async () => {
      if (await isSameUser(currentUser?.id)) complete(true)
      else location.reload()
    }
    return () => channel.close()
  }, [currentUser, complete])

  const open = () => {
    const url = signInUrl(maxAge, '/console/signed-in')
    setState(window.open(url, '_blank', 'popup,width=480,height=720') ? 'waiting' : 'blocked')
  }
  return (
    <Modal
      opened
      onClose={() => complete(false)}
      title="Sign in again"
      withCloseButton={false}
      closeOnClickOutside={false}
    >
      <Text size="sm">
        This action requires a recent sign-in. Sign in again in a separate window: this page stays as it is and
        continues afterwards.
      </Text>
      {state === 'waiting' && (
        <Text size="sm" c="dimmed" mt="md" role="status">
          Waiting for the other window…
        </Text>
      )}
      {state === 'blocked' && (
        <Alert color="orange" mt="md" title="The browser blocked the window">
          Allow pop-up windows for this site, or{' '}
          <a {...stopEscapePropagation} href={signInUrl(maxAge, location.pathname + location.search)}>
            sign in on this page
          </a>
          . Unsaved input on this page is then lost.
        </Alert>
      )}
      <Group justify="flex-end" mt="lg" gap="xs">
        <Button {...stopEscapePropagation} variant="default" onClick={() => complete(false)}>
          Cancel
        </Button>
        <Button {...stopEscapePropagation} onClick={open} data-autofocus>
          {state === 'prompt' ? 'Sign in again' : 'Open the window again'}
        </Button>
      </Group>
    </Modal>
  )
}
