/**
 * Streams the records of a JSON file: one per line (NDJSON), an array of objects, or an object with an array under
 * `users` (Keycloak realm exports). Keeps one record in memory. The command line and the console in the browser use
 * this module, so it must not import Node.js modules.
 *
 * The import needs the text and the line number of each record, because it reports every invalid record with its line
 * and continues with the next one. The package @streamparser/json 0.0.26 stops at the first invalid record and has no
 * line numbers. It returns parsed values, in which large numbers are rounded and only the last of duplicate keys is
 * left, and it does not limit the size of a record. For a file of 100 MB it is slower as well: 38 MB/s with values and
 * 50 MB/s with tokens only, compared to 65 MB/s with `JSON.parse` of each record and 114 MB/s without parsing here.
 */

export interface JsonRecord {
  /** The number of the line on which the record begins, from 1. */
  line: number
  /** The JSON text of the record; undefined when the text is longer than `MAX_RECORD_BYTES`. */
  text: string | undefined
}

const MAX_RECORD_BYTES = 1_048_576

const [QUOTE, BACKSLASH, NEWLINE, COLON] = [34, 92, 10, 58]
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [123, 125, 91, 93]

/**
 * Splits a stream of UTF-8 encoded JSON into records. Counts brackets and does not check the text inside of them.
 * @throws Error when the brackets are not balanced, or for an unquoted value outside of brackets
 */
export async function* readJsonRecords(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<JsonRecord> {
  const scanner = new RecordScanner()
  for await (const chunk of chunks) yield* scanner.feed(chunk)
  scanner.end()
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** @param size the total size of the pieces in bytes */
function decodeChunks(pieces: readonly Uint8Array[], size: number): string {
  if (pieces.length === 1) return decoder.decode(pieces[0])
  const joined = new Uint8Array(size)
  let at = 0
  for (const piece of pieces) {
    joined.set(piece, at)
    at += piece.length
  }
  return decoder.decode(joined)
}

class RecordScanner {
  private line = 1
  /** The number of open brackets. */
  private depth = 0
  private inString = false
  private escaped = false
  /**
   * The number of open brackets at which a record begins: 0 for NDJSON, 1 in an array, 2 in the array `users` of a
   * wrapper object. Outside of `users`, a wrapper object has no records and the value is 0.
   */
  private recordDepth = 0
  private recordStart: { line: number } | undefined
  private pieces: Uint8Array[] = []
  private size = 0
  /** The end of the last string at depth 1 of a wrapper object. It may be the key `users`. */
  private lastString = ''
  /** The last key at depth 1. */
  private key = ''
  /** True for a file with a wrapper object, see `isWrapperObject`. */
  private isWrapped = false
  private beforeFirstBracket = true

  public *feed(chunk: Uint8Array): Generator<JsonRecord> {
    let from = this.recordStart ? 0 : -1
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!
      if (byte === NEWLINE) this.line++
      if (this.inString) {
        if (this.escaped) this.escaped = false
        else if (byte === BACKSLASH) this.escaped = true
        else if (byte === QUOTE) this.inString = false
        else if (this.isWrapped && this.depth === 1)
          this.lastString = (this.lastString + String.fromCharCode(byte)).slice(-32)
        continue
      }
      if (byte === QUOTE) {
        this.inString = true
        this.lastString = ''
      } else if (byte === COLON) {
        if (this.depth === 1) this.key = this.lastString
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (this.startsRecord(byte, chunk, at)) {
          this.recordStart = { line: this.line }
          from = at
        }
        this.depth++
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        this.depth--
        if (this.depth < 0) throw new Error(`Line ${this.line} has a closing bracket without an opening one.`)
        if (this.recordStart && this.depth === this.recordDepth) {
          this.appendPiece(chunk.subarray(from, at + 1))
          yield this.finishRecord()
          from = -1
        } else if (this.isWrapped && this.depth === 1) this.recordDepth = 0
      } else if (this.depth === 0 && byte > 32) throw new Error(`Line ${this.line} is not valid JSON.`)
    }
    if (this.recordStart && from >= 0) this.appendPiece(chunk.subarray(from))
  }

  end(): void {
    if (this.recordStart || this.depth > 0)
      throw new Error(
        this.recordStart
          ? `The file ends inside the record that begins on line ${this.recordStart.line}.`
          : `The file ends on line ${this.line}, before all brackets are closed.`,
      )
  }

  /**
   * Returns true when a record begins with the opening bracket at this position. Determines the structure of the file
   * from its first bracket.
   */
  private startsRecord(byte: number, chunk: Uint8Array, at: number): boolean {
    if (this.beforeFirstBracket) {
      this.beforeFirstBracket = false
      if (byte === OPEN_BRACKET) {
        this.recordDepth = 1
        return false
      }
      if (isWrapperObject(chunk, at)) {
        this.isWrapped = true
        return false
      }
      return true
    }
    if (this.recordStart) return false
    if (this.isWrapped) {
      if (this.depth === 1 && byte === OPEN_BRACKET && this.key === 'users') this.recordDepth = 2
      return this.recordDepth === 2 && this.depth === 2 && byte === OPEN_BRACE
    }
    return this.depth === this.recordDepth && byte === OPEN_BRACE
  }

  private appendPiece(piece: Uint8Array): void {
    this.size += piece.length
    if (this.size <= MAX_RECORD_BYTES) this.pieces.push(new Uint8Array(piece))
    else this.pieces = []
  }

  private finishRecord(): JsonRecord {
    const text = this.size <= MAX_RECORD_BYTES ? decodeChunks(this.pieces, this.size) : undefined
    const { line } = this.recordStart!
    this.recordStart = undefined
    this.pieces = []
    this.size = 0
    return { line, text }
  }
}

/**
 * Returns true when the object is a wrapper (a realm export) and not a user record. The first key of a wrapper is
 * `realm`, `users`, or `id` with `realm` as the second key.
 */
function isWrapperObject(chunk: Uint8Array, at: number): boolean {
  const prefix = decoder.decode(chunk.subarray(at, at + 65_536))
  return /^\{\s*"(realm|users|id"\s*:\s*"[^"]*"\s*,\s*"realm)"/.test(prefix)
}
