/** Measures the first start on an empty DATA_DIR, later starts, and the memory of the idle process. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createFolder, removeFolder, startServer } from './server.js'

const median = (values: number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!

/** @returns the medians of three rounds, in milliseconds and megabytes */
export async function bench(): Promise<Record<string, unknown>[]> {
  const first: number[] = []
  const later: number[] = []
  const memory: number[] = []
  for (let round = 0; round < 3; round++) {
    const folder = createFolder()
    const fresh = await startServer(folder)
    first.push(fresh.readyAfterMs)
    await fresh.stop()
    const again = await startServer(folder)
    later.push(again.readyAfterMs)
    await sleep(10_000)
    memory.push(again.memoryMb())
    await again.stop()
    removeFolder(folder)
  }
  return [
    { figure: 'first start to ready', median: `${Math.round(median(first))} ms`, bound: '< 5000 ms' },
    { figure: 'later start to ready', median: `${Math.round(median(later))} ms`, bound: '< 2000 ms' },
    { figure: 'idle memory of the node process', median: `${Math.round(median(memory))} MB`, bound: '< 250 MB' },
  ]
}
