/** A bar on stderr for long work; nothing where nobody looks. */
import { setTimeout as after } from 'node:timers'

export interface Progress {
  /** @param share done, 0 to 1; undefined when nobody knows how much there is */
  show(share: number | undefined, text: string): void
  /** Clears the bar, so that the answer stands on a line of its own. */
  end(): void
}

const WIDTH = 28
/** Between two pictures (milliseconds). */
const PAUSE = 100

/** @param quiet for `--json` and the like */
export function progressBar(quiet = false): Progress {
  const { stderr } = process
  if (quiet || !stderr.isTTY) return { show: () => {}, end: () => {} }
  let waiting = false
  return {
    show(share, text) {
      if (waiting) return
      waiting = true
      after(() => {
        waiting = false
      }, PAUSE).unref()
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
