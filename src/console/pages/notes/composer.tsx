/** Where a note is written: `@` proposes people, `[[` proposes things, both from the server. */
import { Text, Textarea } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { clients } from 'documents/clients'
import { organizations } from 'documents/organizations'
import { users } from 'documents/users'
import { useId, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { useAsk } from '../../graphql/hooks'
import { Icon, type IconName } from '../../parts/icon'
import { usePlace } from '../../place'
import { userName } from '../users/names'
import { nameForNote } from './links'
import classes from './notes.module.css'

interface Props {
  label: string
  placeholder?: string
  value: string
  onChange: (value: string) => void
  /** Ctrl or ⌘ with Enter. */
  onSend: () => void
  error?: string | undefined
  disabled?: boolean
}

interface Trigger {
  kind: 'person' | 'thing'
  sought: string
  from: number
}

/** What stands before the cursor, if it asks for a proposal. */
function triggerIn(text: string, cursor: number): Trigger | undefined {
  const before = text.slice(0, cursor)
  const person = /(?:^|[\s(])@([\p{L}\p{N}._@-]{0,40})$/u.exec(before)
  if (person) return { kind: 'person', sought: person[1]!, from: cursor - person[1]!.length - 1 }
  const thing = /\[\[([^[\]\n|:]{0,40})$/.exec(before)
  return thing ? { kind: 'thing', sought: thing[1]!, from: cursor - thing[0].length } : undefined
}

interface Proposal {
  id: string
  name: string
  icon: IconName
  text: string
}

export function Composer({ label, placeholder, value, onChange, onSend, error, disabled }: Props) {
  const field = useRef<HTMLTextAreaElement>(null)
  const listId = useId()
  const [trigger, setTrigger] = useState<Trigger>()
  const [marked, setMarked] = useState(0)
  const proposals = useProposals(trigger)
  const isOpen = trigger !== undefined && proposals.length > 0
  const current = Math.min(marked, proposals.length - 1)

  const look = () => {
    const { value: text, selectionStart } = field.current!
    setTrigger(triggerIn(text, selectionStart))
  }
  const take = ({ text }: Proposal) => {
    if (!trigger || !field.current) return
    const cursor = field.current.selectionStart
    const rest = value.slice(cursor)
    // At once: the cursor stands behind it before the next letter comes.
    flushSync(() => {
      onChange(`${value.slice(0, trigger.from)}${text}${rest.startsWith(' ') ? '' : ' '}${rest}`)
      setTrigger(undefined)
    })
    const end = trigger.from + text.length + 1
    field.current.focus()
    field.current.setSelectionRange(end, end)
  }
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault()
      onSend()
      return
    }
    if (!isOpen) return
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setMarked((current + step + proposals.length) % proposals.length)
    } else if (event.key === 'Enter' || event.key === 'Tab') {
      event.preventDefault()
      take(proposals[current]!)
    } else if (event.key === 'Escape') {
      event.stopPropagation()
      setTrigger(undefined)
    }
  }
  return (
    <div className={classes.composer}>
      <Textarea
        ref={field}
        label={label}
        placeholder={placeholder}
        autosize
        minRows={3}
        maxRows={16}
        maxLength={10_000}
        value={value}
        error={error}
        disabled={disabled}
        aria-autocomplete="list"
        aria-controls={isOpen ? listId : undefined}
        aria-activedescendant={isOpen ? `${listId}-${current}` : undefined}
        onChange={(event) => {
          onChange(event.currentTarget.value)
          setMarked(0)
          look()
        }}
        onClick={look}
        onBlur={() => setTrigger(undefined)}
        onKeyDown={onKeyDown}
      />
      {isOpen && (
        <div role="listbox" id={listId} aria-label="Proposals" className={classes.proposals}>
          {proposals.map((proposal, at) => (
            // biome-ignore lint/a11y/useFocusableInteractive: the cursor stays in the text (aria-activedescendant)
            // biome-ignore lint/a11y/useKeyWithClickEvents: keys are heard where the cursor is
            <div
              key={proposal.id}
              role="option"
              id={`${listId}-${at}`}
              aria-selected={at === current}
              className={classes.proposal}
              // Before the field loses the cursor.
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => take(proposal)}
            >
              <Icon name={proposal.icon} size={15} />
              <span>{proposal.name}</span>
              <Text span size="xs" c="dimmed" ff="monospace" ml="auto">
                …{proposal.id.slice(-6)}
              </Text>
            </div>
          ))}
        </div>
      )}
    </div>
  )
}

/** People or things of the issuer by the letters typed so far. */
function useProposals(trigger: Trigger | undefined): Proposal[] {
  const { accountId, issuerId, may } = usePlace()
  const [sought] = useDebouncedValue(trigger?.sought ?? '', 150)
  const ids = { accountId, issuerId }
  const inIssuer = issuerId !== ''
  const isPerson = inIssuer && trigger?.kind === 'person'
  const isThing = inIssuer && trigger?.kind === 'thing'
  const people = useAsk(users, { ...ids, limit: 6, search: sought || null }, { pause: !isPerson || !may('users') })
  const apps = useAsk(clients, { ...ids, limit: 4, search: sought || null }, { pause: !isThing || !may('clients') })
  const orgs = useAsk(
    organizations,
    { ...ids, limit: 4, search: sought || null },
    { pause: !isThing || !may('organizations') },
  )
  if (isPerson) {
    return (people.data?.users.data ?? []).map((user) => {
      const name = nameForNote(userName(user))
      return { id: user.id, name, icon: 'user', text: `@[${name}](${user.id})` }
    })
  }
  if (!isThing) return []
  const thing = (type: 'client' | 'org', icon: IconName) => (found: { id: string; name?: string | null }) => {
    const name = nameForNote(found.name ?? found.id)
    return { id: found.id, name, icon, text: `[[${type}:${found.id}|${name}]]` }
  }
  return [
    ...(orgs.data?.organizations.data ?? []).map(thing('org', 'building')),
    ...(apps.data?.clients.data ?? []).map(thing('client', 'app')),
  ]
}
