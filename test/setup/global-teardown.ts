import { teardown } from './global-setup.js'

/** Runs the tasks of `globalSetup` in reverse order after all tests, whether they failed or not. */
export default async function globalTeardown(): Promise<void> {
  for (const undo of teardown.tasks.splice(0).reverse()) await undo()
}
