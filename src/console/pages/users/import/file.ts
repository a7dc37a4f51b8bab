/** An export, read in the browser as it lies on the disk: in constant memory, and in portions that a request can hold. */
import type { ImportRecordInput } from 'documents/types'
import { recordsIn } from '../../../../kernel/json-records'

/** What a request may hold is 256 KiB; the rest of it is small (bytes). */
const MAX_BYTES = 200_000
const MAX_RECORDS = 500

export interface Portion {
  records: ImportRecordInput[]
  /** Lines of records that no request can hold. */
  tooLarge: number[]
  /** How much of the file has been read, from 0 to 1. */
  share: number
  last: boolean
}

/**
 * The records of a file, as the command splits them; gzip by its name.
 * @throws Error in words for people when the file is none that holds users
 */
export async function* portionsOf(file: File): AsyncGenerator<Portion> {
  let seen = 0
  const chunks = chunksOf(file, (bytes) => {
    seen += bytes
  })
  const encoder = new TextEncoder()
  const empty = () => ({ records: [] as ImportRecordInput[], tooLarge: [] as number[], size: 0 })
  let portion = empty()
  // The last one is known only when nothing follows it, so each waits for the next.
  let waiting: Portion | undefined
  for await (const { line, text } of recordsIn(chunks)) {
    const size = text === undefined ? Number.POSITIVE_INFINITY : encoder.encode(JSON.stringify(text)).length + 30
    const fits = portion.size + size <= MAX_BYTES && portion.records.length < MAX_RECORDS
    if (!fits && portion.records.length > 0) {
      if (waiting) yield waiting
      waiting = { records: portion.records, tooLarge: portion.tooLarge, share: seen / file.size, last: false }
      portion = empty()
    }
    if (text === undefined || size > MAX_BYTES) portion.tooLarge.push(line)
    else {
      portion.records.push({ line, text })
      portion.size += size
    }
  }
  if (waiting) yield waiting
  yield { records: portion.records, tooLarge: portion.tooLarge, share: 1, last: true }
}

async function* chunksOf(file: File, read: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  const counting = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      read(chunk.length)
      controller.enqueue(chunk)
    },
  })
  const plain = file.stream().pipeThrough(counting)
  const stream = file.name.endsWith('.gz') ? plain.pipeThrough(new DecompressionStream('gzip')) : plain
  const reader = stream.getReader()
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    void reader.cancel().catch(() => {})
  }
}
