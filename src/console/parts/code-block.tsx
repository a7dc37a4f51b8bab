import classes from './code-block.module.css'
import { CopyAction } from './values'

/** Code to be copied. @param title what it is, or the name of its file */
export function CodeBlock({ title, code }: { title: string; code: string }) {
  return (
    <figure className={classes.block}>
      <figcaption>
        <span>{title}</span>
        <CopyAction value={code} label={`Copy ${title}`} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1) */}
      <pre tabIndex={0}>
        <code>{code}</code>
      </pre>
    </figure>
  )
}
