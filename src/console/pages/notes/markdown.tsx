/**
 * The Markdown of notes, as elements: headings, lists, quotes, code, emphasis, links, mentions and references. What is
 * HTML is shown as it was typed.
 */
import type { NoteReferenceType } from 'documents/types'
import { Fragment, type ReactNode } from 'react'
import { Icon } from '../../parts/icon'
import { TextLink } from '../../parts/link'
import { hrefOfThing, kinds, type NotePlace } from './links'
import classes from './notes.module.css'

/** In order of what wins: code, mention, reference, link, bold, italic. */
const inline =
  /(?<code>`+)(?<coded>[\s\S]*?[^`])\k<code>(?!`)|@\[(?<name>[^[\]\n]{1,200})\]\((?<user>[\w-]{1,64})\)|\[\[(?<type>user|org|issuer|client|webhook|api_key):(?<id>[\w-]{1,64})(?:\|(?<shown>[^[\]\n]{1,200}))?\]\]|\[(?<text>[^[\]\n]+)\]\((?<url>https?:\/\/[^\s()]+)\)|\*\*(?<bold>[^*\n]+)\*\*|\*(?<italic>[^*\n]+)\*/g

function spans(text: string, place: NotePlace): ReactNode[] {
  const parts: ReactNode[] = []
  let from = 0
  for (const match of text.matchAll(inline)) {
    parts.push(text.slice(from, match.index))
    from = match.index + match[0].length
    parts.push(<Fragment key={match.index}>{span(match.groups!, place)}</Fragment>)
  }
  parts.push(text.slice(from))
  return parts
}

function span(found: Record<string, string | undefined>, place: NotePlace): ReactNode {
  const { coded, name, user, type, id, shown, text, url, bold, italic } = found
  if (coded !== undefined) return <code className={classes.code}>{coded.trim()}</code>
  if (user) return <Thing place={place} type="user" id={user} text={`@${name}`} />
  if (id) return <Thing place={place} type={type as NoteReferenceType} id={id} text={shown ?? id} withIcon />
  if (url) {
    return (
      <a href={url} target="_blank" rel="noopener noreferrer nofollow">
        {text}
      </a>
    )
  }
  return bold === undefined ? <em>{italic}</em> : <strong>{bold}</strong>
}

interface ThingProps {
  place: NotePlace
  type: NoteReferenceType
  id: string
  text: string
  withIcon?: boolean
}

/** A mention or reference: a link where it can be known whereto. */
export function Thing({ place, type, id, text, withIcon = false }: ThingProps) {
  const href = hrefOfThing(place, type, id)
  const content = (
    <>
      {withIcon && <Icon name={kinds[type].icon} size={13} />}
      {text}
    </>
  )
  if (!href) {
    return (
      <span className={classes.thing} title={`${kinds[type].label} ${id}`}>
        {content}
      </span>
    )
  }
  return (
    <TextLink href={href} className={classes.thing} inherit>
      {content}
    </TextLink>
  )
}

type Block = { kind: 'p' | 'quote' | 'pre' | 'ul' | 'ol' | 'heading'; lines: string[] }

const item = /^\s{0,3}(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/

/** The blocks of a text; lines of one kind belong together. */
function blocksOf(content: string): Block[] {
  const blocks: Block[] = []
  let fence: string | undefined
  let last: Block | undefined
  const begin = (kind: Block['kind'], lines: string[]) => {
    last = { kind, lines }
    blocks.push(last)
  }
  const put = (kind: Block['kind'], line: string) => {
    if (last?.kind === kind && kind !== 'heading') last.lines.push(line)
    else begin(kind, [line])
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
      begin('pre', [])
    } else if (line.trim() === '') last = undefined
    else if (/^#{1,6}\s/.test(line)) put('heading', line.replace(/^#+\s+/, ''))
    else if (/^>\s?/.test(line)) put('quote', line.replace(/^>\s?/, ''))
    else {
      const found = item.exec(line)
      if (found) put(found[1] ? 'ol' : 'ul', found[2]!)
      else put('p', line)
    }
  }
  return blocks
}

export function Markdown({ content, place }: { content: string; place: NotePlace }) {
  return (
    <div className={classes.body}>
      {blocksOf(content).map((block, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a text has no other order
        <BlockView key={at} {...block} place={place} />
      ))}
    </div>
  )
}

function BlockView({ kind, lines, place }: Block & { place: NotePlace }) {
  const text = lines.join('\n')
  // biome-ignore lint/suspicious/noArrayIndexKey: a text has no other order
  const items = () => lines.map((line, at) => <li key={at}>{spans(line, place)}</li>)
  switch (kind) {
    case 'pre':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1)
        <pre tabIndex={0}>
          <code>{text}</code>
        </pre>
      )
    case 'heading':
      return <p className={classes.heading}>{spans(text, place)}</p>
    case 'quote':
      return <blockquote>{spans(text, place)}</blockquote>
    case 'ul':
      return <ul>{items()}</ul>
    case 'ol':
      return <ol>{items()}</ol>
    default:
      return <p>{spans(text, place)}</p>
  }
}
