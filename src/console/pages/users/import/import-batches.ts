/** Reads an export in the browser, in constant memory, and splits it into batches that fit into a request. */
import type { ImportRecordInput } from 'documents/types'
import { readJsonRecords } from '../../../../kernel/json-records'

/** Maximum size of a batch (bytes). A request is limited to 256 KiB, and its other variables are small. */
const MAX_BYTES = 200_000
const MAX_RECORDS = 500

export interface ImportBatch {
  records: ImportRecordInput[]
  /** Line numbers of records that are too large for a request. */
  tooLarge: number[]
  /** Fraction of the file that has been read, from 0 to 1. */
  fractionRead: number
  last: boolean
}

/**
 * Reads the records of a file in batches. The file is split into records as in
 * `gatehouse users import`. Decompresses files named `.gz`.
 * @throws Error with a message for the user when the file does not contain users
 */
export async function* readBatches(file: File): AsyncGenerator<ImportBatch> {
  let bytesRead = 0
  const chunks = readChunks(file, (bytes) => {
    bytesRead += bytes
  })
  const encoder = new TextEncoder()
  const emptyBatch = () => ({ records: [] as ImportRecordInput[], tooLarge: [] as number[], size: 0 })
  let batch = emptyBatch()
  // The latest complete batch. It is yielded when the next batch is complete or the file ends.
  let pendingBatch: ImportBatch | undefined
  for await (const { line, text } of readJsonRecords(chunks)) {
    const size = text === undefined ? Number.POSITIVE_INFINITY : encoder.encode(JSON.stringify(text)).length + 30
    const fits = batch.size + size <= MAX_BYTES && batch.records.length < MAX_RECORDS
    if (!fits && batch.records.length > 0) {
      if (pendingBatch) yield pendingBatch
      pendingBatch = {
        records: batch.records,
        tooLarge: batch.tooLarge,
        fractionRead: bytesRead / file.size,
        last: false,
      }
      batch = emptyBatch()
    }
    if (text === undefined || size > MAX_BYTES) batch.tooLarge.push(line)
    else {
      batch.records.push({ line, text })
      batch.size += size
    }
  }
  if (pendingBatch) yield pendingBatch
  yield { records: batch.records, tooLarge: batch.tooLarge, fractionRead: 1, last: true }
}

async function* readChunks(file: File, onRead: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  const counting = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      onRead(chunk.length)
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
