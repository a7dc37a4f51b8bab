/** Parses the Markdown of notes, with mentions and references (docs/contract.md#note-fields-and-links). */
import type { NoteReferenceType } from 'documents/types'
import MarkdownIt, { type StateInline, type Token } from 'markdown-it'

/** `meta` of tokens of the type `note_link`. */
export interface NoteLink {
  type: NoteReferenceType
  id: string
  isMention: boolean
}

// By default HTML is text, and nesting is limited to 100 levels. Images would be loaded from other hosts, definitions
// of link references would be hidden, the `|` of references would end table cells, and for the server indented
// lines are not code.
const parser = new MarkdownIt().disable(['image', 'reference', 'table', 'code'])
parser.validateLink = (url) => /^(?:https?:\/\/|mailto:)/i.test(url)
parser.inline.ruler.before('link', 'note_link', parseNoteLink)

const MENTION_OR_REFERENCE =
  /@\[(?<name>[^[\]\n]{1,200})\]\((?<user>[\w-]{1,64})\)|\[\[(?<type>user|org|issuer|client|webhook|api_key):(?<id>[\w-]{1,64})(?:\|(?<shown>[^[\]\n]{1,200}))?\]\]/y

/** A rule of markdown-it: returns false if there is no mention or reference, and only moves the position if `silent`. */
function parseNoteLink(state: StateInline, silent: boolean): boolean {
  MENTION_OR_REFERENCE.lastIndex = state.pos
  const found = MENTION_OR_REFERENCE.exec(state.src)?.groups
  if (!found || MENTION_OR_REFERENCE.lastIndex > state.posMax) return false
  state.pos = MENTION_OR_REFERENCE.lastIndex
  if (silent) return true
  const { name, user, type, id, shown } = found
  // HTML has no links inside of links.
  const token = state.push(state.linkLevel > 0 ? 'text' : 'note_link', '', 0)
  token.content = user ? `@${name}` : (shown ?? id!)
  token.meta = { type: user ? 'user' : type, id: user ?? id, isMention: user !== undefined }
  return true
}

/** Returns the tokens of markdown-it. The `meta` of those of the type `note_link` is a `NoteLink`. */
export const parseMarkdown = (content: string): Token[] => parser.parse(content, {})

/** The text of a note on one line, without Markdown. */
export const plainText = (content: string): string =>
  parseMarkdown(content)
    .flatMap((block) => [...(block.children ?? [block]), undefined])
    .map((token) => (token === undefined || token.type.endsWith('break') ? ' ' : token.content))
    .join('')
    .replace(/\s+/g, ' ')
    .trim()
