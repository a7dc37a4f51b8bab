import { held } from './global-setup.js'

/** After the run, failed or not: stops the server and removes its folder, last made first. */
export default async function globalTeardown(): Promise<void> {
  for (const undo of held.undo.splice(0).reverse()) await undo()
}
