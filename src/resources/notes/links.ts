/**
 * Extracts mentions and references from the text of a note (docs/contract.md#note-fields-and-links). Fenced code blocks
 * and code spans are ignored.
 */

export const referenceTypes = ['user', 'org', 'issuer', 'client', 'webhook', 'api_key'] as const
export type ReferenceType = (typeof referenceTypes)[number]

export interface Mention {
  userId: string
  displayName: string
}

export interface Reference {
  type: ReferenceType
  refId: string
  displayText: string | null
}

/** Replaces code spans and escaped characters, so that no link matches across them. */
const PLACEHOLDER = '\uffff'

const mentionPattern = /@\[([^[\]\n\uffff]{1,200})\]\(([A-Za-z0-9_-]{1,64})\)/g
const referencePattern = new RegExp(
  `\\[\\[(${referenceTypes.join('|')}):([A-Za-z0-9_-]{1,64})(?:\\|([^[\\]\\n\\uffff]{1,200}))?\\]\\]`,
  'g',
)

/** Returns the mentions and references of a note in the order of the text, without duplicates. */
export function parseLinks(content: string): { mentions: Mention[]; references: Reference[] } {
  const text = removeCode(content)
  const mentions = [...text.matchAll(mentionPattern)].map(([, name, userId]) => ({
    userId: userId!,
    displayName: name!,
  }))
  const references = [...text.matchAll(referencePattern)].map(([, type, refId, shown]) => ({
    type: type as ReferenceType,
    refId: refId!,
    displayText: shown ?? null,
  }))
  return {
    mentions: uniqueBy(mentions, ({ userId }) => userId),
    references: uniqueBy(references, ({ type, refId }) => `${type}:${refId}`),
  }
}

function uniqueBy<T>(list: T[], keyOf: (item: T) => string): T[] {
  const first = new Map<string, T>()
  for (const item of list) if (!first.has(keyOf(item))) first.set(keyOf(item), item)
  return [...first.values()]
}

/** CommonMark 4.5: a code fence, also inside of block quotes and list items. */
const fencePattern = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}|~{3,})(.*)$/

/** Removes fenced code blocks and code spans from Markdown. */
function removeCode(markdown: string): string {
  const lines: string[] = []
  let open: string | undefined
  for (const line of markdown.split(/\r\n|\n|\r/)) {
    const [, mark, rest = ''] = fencePattern.exec(line) ?? []
    if (open !== undefined) {
      // A fence is closed by a fence of the same character and at least the same length, without an info string.
      if (mark?.startsWith(open) && rest.trim() === '') open = undefined
      lines.push('')
    } else if (mark !== undefined && !(mark.startsWith('`') && rest.includes('`'))) {
      open = mark
      lines.push('')
    } else {
      lines.push(line)
    }
  }
  // A code span ends with its paragraph.
  return lines
    .join('\n')
    .split(/\n(?=[ \t>]*\n)/)
    .map(removeCodeSpans)
    .join('\n')
}

/** CommonMark 6.1: a code span is enclosed by two backtick strings of equal length. */
function removeCodeSpans(text: string): string {
  let result = ''
  let at = 0
  while (at < text.length) {
    const char = text[at]!
    if (char === '\\' && '`@['.includes(text[at + 1] ?? ' ')) {
      result += PLACEHOLDER
      at += 2
    } else if (char === '`') {
      const run = /^`+/.exec(text.slice(at))![0]
      const end = endOfSpan(text, at + run.length, run.length)
      result += end === undefined ? run : PLACEHOLDER
      at = end ?? at + run.length
    } else {
      result += char
      at++
    }
  }
  return result
}

/** Returns the end of the next backtick string of exactly this length; undefined if there is none. */
function endOfSpan(text: string, from: number, length: number): number | undefined {
  for (const run of text.slice(from).matchAll(/`+/g)) {
    if (run[0].length === length) return from + run.index + length
  }
  return undefined
}
