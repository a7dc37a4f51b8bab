/**
 * Renders the Markdown of notes as React elements: headings, lists, quotes, code, emphasis, links, mentions and
 * references. HTML is shown as text.
 */
import type { NoteReferenceType } from 'documents/types'
import { Fragment, type ReactNode } from 'react'
import { Icon } from '../../components/icon'
import { TextLink } from '../../components/link'
import { type NoteContext, referenceHref, referenceTypes } from './note-references'
import classes from './notes.module.css'

/** In order of precedence: code, mention, reference, link, bold, italic. */
const INLINE_PATTERN =
  /(?<code>`+)(?<coded>[\s\S]*?[^`])\k<code>(?!`)|@\[(?<name>[^[\]\n]{1,200})\]\((?<user>[\w-]{1,64})\)|\[\[(?<type>user|org|issuer|client|webhook|api_key):(?<id>[\w-]{1,64})(?:\|(?<shown>[^[\]\n]{1,200}))?\]\]|\[(?<text>[^[\]\n]+)\]\((?<url>https?:\/\/[^\s()]+)\)|\*\*(?<bold>[^*\n]+)\*\*|\*(?<italic>[^*\n]+)\*/g

function renderInline(text: string, context: NoteContext): ReactNode[] {
  const parts: ReactNode[] = []
  let from = 0
  for (const match of text.matchAll(INLINE_PATTERN)) {
    parts.push(text.slice(from, match.index))
    from = match.index + match[0].length
    parts.push(<Fragment key={match.index}>{renderInlineToken(match.groups!, context)}</Fragment>)
  }
  parts.push(text.slice(from))
  return parts
}

function renderInlineToken(found: Record<string, string | undefined>, context: NoteContext): ReactNode {
  const { coded, name, user, type, id, shown, text, url, bold, italic } = found
  if (coded !== undefined) return <code className={classes.code}>{coded.trim()}</code>
  if (user) return <NoteReference context={context} type="user" id={user} text={`@${name}`} />
  if (id)
    return <NoteReference context={context} type={type as NoteReferenceType} id={id} text={shown ?? id} withIcon />
  if (url) {
    return (
      <a href={url} target="_blank" rel="noopener noreferrer nofollow">
        {text}
      </a>
    )
  }
  return bold === undefined ? <em>{italic}</em> : <strong>{bold}</strong>
}

interface NoteReferenceProps {
  context: NoteContext
  type: NoteReferenceType
  id: string
  text: string
  withIcon?: boolean
}

/** A mention or reference; a link if the path of the resource is known. */
export function NoteReference({ context, type, id, text, withIcon = false }: NoteReferenceProps) {
  const href = referenceHref(context, type, id)
  const content = (
    <>
      {withIcon && <Icon name={referenceTypes[type].icon} size={13} />}
      {text}
    </>
  )
  if (!href) {
    return (
      <span className={classes.reference} title={`${referenceTypes[type].label} ${id}`}>
        {content}
      </span>
    )
  }
  return (
    <TextLink href={href} className={classes.reference} inherit>
      {content}
    </TextLink>
  )
}

type Block = { kind: 'p' | 'quote' | 'pre' | 'ul' | 'ol' | 'heading'; lines: string[] }

const LIST_ITEM_PATTERN = /^\s{0,3}(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/

/** Splits a text into blocks. Consecutive lines of the same kind form one block. */
function parseBlocks(content: string): Block[] {
  const blocks: Block[] = []
  let fence: string | undefined
  let last: Block | undefined
  const startBlock = (kind: Block['kind'], lines: string[]) => {
    last = { kind, lines }
    blocks.push(last)
  }
  const appendLine = (kind: Block['kind'], line: string) => {
    if (last?.kind === kind && kind !== 'heading') last.lines.push(line)
    else startBlock(kind, [line])
  }
  for (const line of content.split(/\r\n|\n|\r/)) {
    const mark = /^\s{0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (fence !== undefined) {
      if (mark?.startsWith(fence)) {
        fence = undefined
        last = undefined
      } else last!.lines.push(line)
    } else if (mark) {
      fence = mark
      startBlock('pre', [])
    } else if (line.trim() === '') last = undefined
    else if (/^#{1,6}\s/.test(line)) appendLine('heading', line.replace(/^#+\s+/, ''))
    else if (/^>\s?/.test(line)) appendLine('quote', line.replace(/^>\s?/, ''))
    else {
      const found = LIST_ITEM_PATTERN.exec(line)
      if (found) appendLine(found[1] ? 'ol' : 'ul', found[2]!)
      else appendLine('p', line)
    }
  }
  return blocks
}

export function Markdown({ content, context }: { content: string; context: NoteContext }) {
  return (
    <div className={classes.body}>
      {parseBlocks(content).map((block, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks and lines have no other key
        <BlockView key={at} {...block} context={context} />
      ))}
    </div>
  )
}

function BlockView({ kind, lines, context }: Block & { context: NoteContext }) {
  const text = lines.join('\n')
  // biome-ignore lint/suspicious/noArrayIndexKey: blocks and lines have no other key
  const items = () => lines.map((line, at) => <li key={at}>{renderInline(line, context)}</li>)
  switch (kind) {
    case 'pre':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable elements must be focusable (WCAG 2.1.1)
        <pre tabIndex={0}>
          <code>{text}</code>
        </pre>
      )
    case 'heading':
      return <p className={classes.heading}>{renderInline(text, context)}</p>
    case 'quote':
      return <blockquote>{renderInline(text, context)}</blockquote>
    case 'ul':
      return <ul>{items()}</ul>
    case 'ol':
      return <ol>{items()}</ol>
    default:
      return <p>{renderInline(text, context)}</p>
  }
}
