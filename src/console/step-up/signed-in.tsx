/** Where the window of a second sign-in ends: it tells the page that waits, and goes. */
import { useEffect } from 'react'
import { EmptyState } from '../parts/states'
import { CHANNEL } from './wish'

export default function SignedIn() {
  useEffect(() => {
    const channel = new BroadcastChannel(CHANNEL)
    channel.postMessage('signed in')
    channel.close()
    window.close()
  }, [])
  return (
    <EmptyState icon="check" title="You are signed in">
      Close this window and go on in the one where you were.
    </EmptyState>
  )
}
