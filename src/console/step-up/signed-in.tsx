/** The last page of the step-up window: notifies the waiting page and closes the window. */
import { useEffect } from 'react'
import { EmptyState } from '../components/states'
import { SIGNED_IN_CHANNEL } from './request'

export default function SignedIn() {
  useEffect(() => {
    const channel = new BroadcastChannel(SIGNED_IN_CHANNEL)
    channel.postMessage('signed in')
    channel.close()
    window.close()
  }, [])
  return (
    <EmptyState icon="check" title="You are signed in">
      Close this window and continue in the previous one.
    </EmptyState>
  )
}
