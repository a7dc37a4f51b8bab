/** A progress bar on standard error, if it is a terminal. */
import { setTimeout as after } from 'node:timers'
import { limits } from '../kernel/limits.js'

export interface Progress {
  /** @param fraction the completed fraction, 0 to 1; undefined when the total is unknown */
  show(fraction: number | undefined, text: string): void
  /** Clears the bar before other output. */
  end(): void
}

const WIDTH = 28

/**
 * Creates a progress bar. It shows nothing if standard error is not a terminal.
 * @param quiet true to show nothing, as with `--json`
 */
export function progressBar(quiet = false): Progress {
  const { stderr } = process
  if (quiet || !stderr.isTTY) return { show: () => {}, end: () => {} }
  let isThrottled = false
  return {
    show(share, text) {
      if (isThrottled) return
      isThrottled = true
      after(() => {
        isThrottled = false
      }, limits.progressRedrawInterval).unref()
      const done = Math.round(Math.min(1, share ?? 0) * WIDTH)
      const bar =
        share === undefined ? '' : `[${'#'.repeat(done)}${'.'.repeat(WIDTH - done)}] ${Math.floor(share * 100)} %  `
      stderr.write(`\r\u001b[K${bar}${text}`)
    },
    end() {
      stderr.write('\r\u001b[K')
    },
  }
}
