import { teardown } from './global-setup.js'

/** After the run, failed or not: stops the server and removes its folder, in reverse order of creation. */
export default async function globalTeardown(): Promise<void> {
  for (const undo of teardown.tasks.splice(0).reverse()) await undo()
}
