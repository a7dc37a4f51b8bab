/** The child process of hashing.ts: hashes the tasks it receives and exits when it was idle for a while. */
import { limits } from '../../kernel/limits.js'
import { type HashTask, runHashTask } from './hashing.js'

const idle = setTimeout(() => process.exit(), limits.hashingProcessIdleTimeout)

process.on('message', async ({ number, task }: { number: number; task: HashTask }) => {
  idle.refresh()
  // Without a result, the parent process repeats the task itself and reports the error.
  process.send!({ number, result: await runHashTask(task).catch(() => undefined) })
})
process.on('disconnect', () => process.exit())
