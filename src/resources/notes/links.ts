/** Mentions and references in the text of a note (spec 2.14, decisions D14). What stands in code means nothing. */

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

/** Stands where code or an escaped character was, so that nothing matches across it. */
const HOLE = '\uffff'

const mention = /@\[([^[\]\n\uffff]{1,200})\]\(([A-Za-z0-9_-]{1,64})\)/g
const reference = new RegExp(
  `\\[\\[(${referenceTypes.join('|')}):([A-Za-z0-9_-]{1,64})(?:\\|([^[\\]\\n\\uffff]{1,200}))?\\]\\]`,
  'g',
)

/** What a note mentions and refers to, in the order of the text, each user and thing once. */
export function linksOf(content: string): { mentions: Mention[]; references: Reference[] } {
  const text = withoutCode(content)
  const mentions = [...text.matchAll(mention)].map(([, name, userId]) => ({ userId: userId!, displayName: name! }))
  const references = [...text.matchAll(reference)].map(([, type, refId, shown]) => ({
    type: type as ReferenceType,
    refId: refId!,
    displayText: shown ?? null,
  }))
  return {
    mentions: firstOfEach(mentions, ({ userId }) => userId),
    references: firstOfEach(references, ({ type, refId }) => `${type}:${refId}`),
  }
}

function firstOfEach<T>(list: T[], keyOf: (item: T) => string): T[] {
  const first = new Map<string, T>()
  for (const item of list) if (!first.has(keyOf(item))) first.set(keyOf(item), item)
  return [...first.values()]
}

/** CommonMark 4.5: the opening of a fence, also inside of quotes and list items. */
const fence = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}|~{3,})(.*)$/

/** Markdown without its fenced code and code spans. */
function withoutCode(markdown: string): string {
  const kept: string[] = []
  let open: string | undefined
  for (const line of markdown.split(/\r\n|\n|\r/)) {
    const [, mark, rest = ''] = fence.exec(line) ?? []
    if (open !== undefined) {
      // Closed by a fence of the same kind, at least as long, with nothing behind it.
      if (mark?.startsWith(open) && rest.trim() === '') open = undefined
      kept.push('')
    } else if (mark !== undefined && !(mark.startsWith('`') && rest.includes('`'))) {
      open = mark
      kept.push('')
    } else {
      kept.push(line)
    }
  }
  // A code span ends with its paragraph.
  return kept
    .join('\n')
    .split(/\n(?=[ \t>]*\n)/)
    .map(withoutSpans)
    .join('\n')
}

/** CommonMark 6.1: a code span lies between two runs of equally many backticks. */
function withoutSpans(text: string): string {
  let result = ''
  let at = 0
  while (at < text.length) {
    const letter = text[at]!
    if (letter === '\\' && '`@['.includes(text[at + 1] ?? ' ')) {
      result += HOLE
      at += 2
    } else if (letter === '`') {
      const run = /^`+/.exec(text.slice(at))![0]
      const end = endOfSpan(text, at + run.length, run.length)
      result += end === undefined ? run : HOLE
      at = end ?? at + run.length
    } else {
      result += letter
      at++
    }
  }
  return result
}

/** Where the next run of exactly this many backticks ends. */
function endOfSpan(text: string, from: number, length: number): number | undefined {
  for (const run of text.slice(from).matchAll(/`+/g)) {
    if (run[0].length === length) return from + run.index + length
  }
  return undefined
}
