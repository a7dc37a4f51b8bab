/**
 * The child process of hashing.ts. Runs the tasks that it receives, and exits after `limits.hashingProcessIdleTimeout`
 * without a task, or when the parent process ends.
 */
import { limits } from '../../kernel/limits.js'
import { type HashTask, runHashTask } from './hashing.js'

const idle = setTimeout(() => process.exit(), limits.hashingProcessIdleTimeout)

process.on('message', async ({ number, task }: { number: number; task: HashTask }) => {
  idle.refresh()
  // After an error the response has no `result`. The parent process then repeats the task and reports the error.
  process.send!({ number, result: await runHashTask(task).catch(() => undefined) })
})
process.on('disconnect', () => process.exit())
