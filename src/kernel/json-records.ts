/**
 * The records of a file, one at a time, whatever holds them: a line each (NDJSON), an array of objects, or an object
 * with an array under `users`, as realm exports have it. Reads bytes as they come and keeps one record in memory. The
 * command reads files with it and the console as well, in the browser: so there is nothing of Node in it.
 */

export interface RecordText {
  /** The line on which the record begins, from 1. */
  line: number
  /** Its JSON text; undefined when it is longer than anything that is a user. */
  text: string | undefined
}

/** Bytes of one record at most. */
const MAX_RECORD = 1_048_576

const [QUOTE, BACKSLASH, NEWLINE, COLON] = [34, 92, 10, 58]
const [OPEN, CLOSE, OPEN_LIST, CLOSE_LIST] = [123, 125, 91, 93]

/**
 * Splits a stream of JSON into records.
 * @throws Error when the file ends in the middle of a record, or is no JSON at all
 */
export async function* recordsIn(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<RecordText> {
  const scanner = new Scanner()
  for await (const chunk of chunks) yield* scanner.feed(chunk)
  scanner.end()
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** @param size of all of them together */
function textOf(pieces: readonly Uint8Array[], size: number): string {
  if (pieces.length === 1) return decoder.decode(pieces[0])
  const whole = new Uint8Array(size)
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return decoder.decode(whole)
}

class Scanner {
  private line = 1
  /** Open brackets, outermost first: what stands inside which. */
  private depth = 0
  private inString = false
  private escaped = false
  /** Depth at which records begin: 0 for lines, 1 in an array, 2 below `users`. */
  private recordDepth = 0
  private began: { line: number } | undefined
  private pieces: Uint8Array[] = []
  private size = 0
  /** The latest string at depth 1 of an object, to find the key `users`; only while no record can begin. */
  private word = ''
  private key = ''
  private wrapped = false
  private first = true

  public *feed(chunk: Uint8Array): Generator<RecordText> {
    let from = this.began ? 0 : -1
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!
      if (byte === NEWLINE) this.line++
      if (this.inString) {
        if (this.escaped) this.escaped = false
        else if (byte === BACKSLASH) this.escaped = true
        else if (byte === QUOTE) this.inString = false
        else if (this.wrapped && this.depth === 1) this.word = (this.word + String.fromCharCode(byte)).slice(-32)
        continue
      }
      if (byte === QUOTE) {
        this.inString = true
        this.word = ''
      } else if (byte === COLON) {
        if (this.depth === 1) this.key = this.word
      } else if (byte === OPEN || byte === OPEN_LIST) {
        if (this.isRecord(byte, chunk, at)) {
          this.began = { line: this.line }
          from = at
        }
        this.depth++
      } else if (byte === CLOSE || byte === CLOSE_LIST) {
        this.depth--
        if (this.depth < 0) throw new Error(`Line ${this.line} closes a bracket that nobody opened.`)
        if (this.began && this.depth === this.recordDepth) {
          this.keep(chunk.subarray(from, at + 1))
          yield this.take()
          from = -1
        } else if (this.wrapped && this.depth === 1) this.recordDepth = 0
      } else if (this.depth === 0 && byte > 32) throw new Error(`Line ${this.line} is no JSON.`)
    }
    if (this.began && from >= 0) this.keep(chunk.subarray(from))
  }

  end(): void {
    if (this.began || this.depth > 0)
      throw new Error(`The file ends in the middle of what began on line ${this.began?.line ?? this.line}.`)
  }

  /** Does a record begin here? The first bracket of the file decides how it is built. */
  private isRecord(byte: number, chunk: Uint8Array, at: number): boolean {
    if (this.first) {
      this.first = false
      if (byte === OPEN_LIST) {
        this.recordDepth = 1
        return false
      }
      if (isWrapper(chunk, at)) {
        this.wrapped = true
        return false
      }
      return true
    }
    if (this.began) return false
    if (this.wrapped) {
      if (this.depth === 1 && byte === OPEN_LIST && this.key === 'users') this.recordDepth = 2
      return this.recordDepth === 2 && this.depth === 2 && byte === OPEN
    }
    return this.depth === this.recordDepth && byte === OPEN
  }

  private keep(piece: Uint8Array): void {
    this.size += piece.length
    if (this.size <= MAX_RECORD) this.pieces.push(new Uint8Array(piece))
    else this.pieces = []
  }

  private take(): RecordText {
    const text = this.size <= MAX_RECORD ? textOf(this.pieces, this.size) : undefined
    const { line } = this.began!
    this.began = undefined
    this.pieces = []
    this.size = 0
    return { line, text }
  }
}

/**
 * A realm, or a user? Realms name themselves or their users at the top, and a line of NDJSON ends before the next
 * record begins: what is not closed on its own line and has a list of users is a wrapper.
 */
function isWrapper(chunk: Uint8Array, at: number): boolean {
  const beginning = decoder.decode(chunk.subarray(at, at + 65_536))
  return /^\{\s*"(realm|users|id"\s*:\s*"[^"]*"\s*,\s*"realm)"/.test(beginning)
}
