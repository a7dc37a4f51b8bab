import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Creates a directory with mode 0700, and its parents. The `recursive` option of Node.js never returns where the system
 * reports an existing directory as missing (Linux, below /proc), and blocks the whole process.
 *
 * @param path absolute
 * @throws the system's Error, which names the path
 */
export function createPrivateDirectory(path: string): void {
  if (directoryExists(path)) return
  const parent = dirname(path)
  if (parent !== path) createPrivateDirectory(parent)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process may have created it in the meantime.
    if (!directoryExists(path)) throw error
  }
}

const directoryExists = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
