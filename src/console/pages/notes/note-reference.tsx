/** A mention of a user or a reference to another resource in a note. */
import type { NoteReferenceType } from 'documents/types'
import { Icon } from '../../components/icon'
import { TextLink } from '../../components/link'
import { type NoteContext, referenceHref, referenceTypes } from './note-references'
import classes from './notes.module.css'

interface NoteReferenceProps {
  context: NoteContext
  type: NoteReferenceType
  id: string
  text: string
  withIcon?: boolean
}

/** A link if the path of the resource is known. */
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
