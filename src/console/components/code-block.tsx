import classes from './code-block.module.css'
import { CopyAction } from './values'

/** Code with a copy button. @param title description or file name */
export function CodeBlock({ title, code }: { title: string; code: string }) {
  return (
    <figure className={classes.block}>
      <figcaption>
        <span>{title}</span>
        <CopyAction value={code} label={`Copy ${title}`} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable elements must be focusable (WCAG 2.1.1) */}
      <pre tabIndex={0}>
        <code>{code}</code>
      </pre>
    </figure>
  )
}
