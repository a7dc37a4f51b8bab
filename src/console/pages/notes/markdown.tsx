/** Renders the Markdown of notes as React elements. HTML is shown as text. */
import type { Token } from 'markdown-it'
import { createElement, Fragment, type ReactNode } from 'react'
import { type NoteLink, parseMarkdown } from './markdown-parser'
import { NoteReference } from './note-reference'
import type { NoteContext } from './note-references'
import classes from './notes.module.css'

export default function Markdown({ content, context }: { content: string; context: NoteContext }) {
  return <div className={classes.body}>{renderTokens(parseMarkdown(content), context)}</div>
}

/** Renders a list of tokens, in which an element is an opening token, its contents and a closing token. */
function renderTokens(tokens: readonly Token[], context: NoteContext): ReactNode[] {
  const root: ReactNode[] = []
  const open: { token: Token; children: ReactNode[] }[] = []
  for (const [at, token] of tokens.entries()) {
    if (token.nesting === 1) {
      open.push({ token, children: [] })
      continue
    }
    const closed = token.nesting === -1 ? open.pop() : undefined
    const siblings = open.at(-1)?.children ?? root
    const node = closed ? renderElement(closed.token, closed.children) : renderLeaf(token, context)
    siblings.push(<Fragment key={at}>{node}</Fragment>)
  }
  return root
}

function renderElement(token: Token, children: ReactNode[]): ReactNode {
  // The paragraphs of list items without blank lines between them.
  if (token.hidden) return children
  switch (token.type) {
    case 'heading_open':
      return <p className={classes.heading}>{children}</p>
    case 'ordered_list_open':
      return <ol start={Number(token.attrGet('start') ?? 1)}>{children}</ol>
    case 'link_open':
      return (
        <a href={String(token.attrGet('href'))} target="_blank" rel="noopener noreferrer nofollow">
          {children}
        </a>
      )
    default:
      // Tags are constants of the parser, not parts of the text. Attributes are not copied.
      return createElement(token.tag, null, children)
  }
}

function renderLeaf(token: Token, context: NoteContext): ReactNode {
  switch (token.type) {
    case 'inline':
      return renderTokens(token.children ?? [], context)
    case 'softbreak':
      return '\n'
    case 'hardbreak':
    case 'hr':
      return createElement(token.tag)
    case 'code_inline':
      return <code className={classes.code}>{token.content}</code>
    case 'fence':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable elements must be focusable (WCAG 2.1.1)
        <pre tabIndex={0}>
          <code>{token.content}</code>
        </pre>
      )
    case 'note_link': {
      const { type, id, isMention } = token.meta as unknown as NoteLink
      return <NoteReference context={context} type={type} id={id} text={token.content} withIcon={!isMention} />
    }
    default:
      return token.content
  }
}
