/** What hashing.ts starts: hashes what it is sent, and ends when nobody sends anything. */
import { SECOND } from '../kernel/time.js'
import { hashHere, type Task } from './hashing.js'

const idle = setTimeout(() => process.exit(), 20 * SECOND)

process.on('message', async ({ number, task }: { number: number; task: Task }) => {
  idle.refresh()
  // What fails is tried again there, and fails there.
  process.send!({ number, result: await hashHere(task).catch(() => undefined) })
})
process.on('disconnect', () => process.exit())
