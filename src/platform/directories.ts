import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Creates a directory and its missing parents with mode 0700. Does not use the `recursive` option of `mkdirSync`: where
 * Linux reports an existing directory as missing (below /proc), that call never returns and blocks the process.
 *
 * @param path the absolute path of the directory
 * @throws the error of `mkdirSync` or `statSync`, which names the path
 */
export function createPrivateDirectory(path: string): void {
  if (directoryExists(path)) return
  const parent = dirname(path)
  if (parent !== path) createPrivateDirectory(parent)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process may have created the directory in the meantime.
    if (!directoryExists(path)) throw error
  }
}

const directoryExists = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
