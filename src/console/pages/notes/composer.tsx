/**
 * The editor of a note: on the pages of an issuer, `@` suggests users, and `[[` suggests organizations and clients. The
 * server searches the suggestions.
 */
import { Text, Textarea } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { clients } from 'documents/clients'
import { organizations } from 'documents/organizations'
import { users } from 'documents/users'
import { useId, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { Icon, type IconName } from '../../components/icon'
import { useConsoleContext } from '../../console-context'
import { useQuery } from '../../graphql/hooks'
import { userName } from '../users/names'
import { toReferenceName } from './note-references'
import classes from './notes.module.css'

interface Props {
  label: string
  placeholder?: string
  value: string
  onChange: (value: string) => void
  /** Called on Ctrl+Enter and ⌘+Enter. */
  onSend: () => void
  error?: string | undefined
  disabled?: boolean
}

interface AutocompleteTrigger {
  kind: 'mention' | 'reference'
  query: string
  start: number
}

/** Returns the mention or reference that is being typed before the cursor, if any. */
function findTrigger(text: string, cursor: number): AutocompleteTrigger | undefined {
  const before = text.slice(0, cursor)
  const mention = /(?:^|[\s(])@([\p{L}\p{N}._@-]{0,40})$/u.exec(before)
  if (mention) return { kind: 'mention', query: mention[1]!, start: cursor - mention[1]!.length - 1 }
  const reference = /\[\[([^[\]\n|:]{0,40})$/.exec(before)
  return reference ? { kind: 'reference', query: reference[1]!, start: cursor - reference[0].length } : undefined
}

interface Suggestion {
  id: string
  name: string
  icon: IconName
  text: string
}

export function Composer({ label, placeholder, value, onChange, onSend, error, disabled }: Props) {
  const field = useRef<HTMLTextAreaElement>(null)
  const listId = useId()
  const [trigger, setTrigger] = useState<AutocompleteTrigger>()
  const [highlighted, setHighlighted] = useState(0)
  const suggestions = useSuggestions(trigger)
  const isOpen = trigger !== undefined && suggestions.length > 0
  const current = Math.min(highlighted, suggestions.length - 1)

  const updateTrigger = () => {
    const { value: text, selectionStart } = field.current!
    setTrigger(findTrigger(text, selectionStart))
  }
  const insertSuggestion = ({ text }: Suggestion) => {
    if (!trigger || !field.current) return
    const cursor = field.current.selectionStart
    const rest = value.slice(cursor)
    // Renders synchronously, so that the cursor is behind the inserted text before the next key event.
    flushSync(() => {
      onChange(`${value.slice(0, trigger.start)}${text}${rest.startsWith(' ') ? '' : ' '}${rest}`)
      setTrigger(undefined)
    })
    const end = trigger.start + text.length + 1
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
      setHighlighted((current + step + suggestions.length) % suggestions.length)
    } else if (event.key === 'Enter' || event.key === 'Tab') {
      event.preventDefault()
      insertSuggestion(suggestions[current]!)
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
          setHighlighted(0)
          updateTrigger()
        }}
        onClick={updateTrigger}
        onBlur={() => setTrigger(undefined)}
        onKeyDown={onKeyDown}
      />
      {isOpen && (
        <div role="listbox" id={listId} aria-label="Suggestions" className={classes.suggestions}>
          {suggestions.map((suggestion, at) => (
            // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the text field (aria-activedescendant)
            // biome-ignore lint/a11y/useKeyWithClickEvents: the text field handles the keys
            <div
              key={suggestion.id}
              role="option"
              id={`${listId}-${at}`}
              aria-selected={at === current}
              className={classes.suggestion}
              // Keeps the focus in the text field.
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => insertSuggestion(suggestion)}
            >
              <Icon name={suggestion.icon} size={15} />
              <span>{suggestion.name}</span>
              <Text span size="xs" c="dimmed" ff="monospace" ml="auto">
                …{suggestion.id.slice(-6)}
              </Text>
            </div>
          ))}
        </div>
      )}
    </div>
  )
}

/** Searches users, or organizations and clients of the issuer, for the text typed so far. */
function useSuggestions(trigger: AutocompleteTrigger | undefined): Suggestion[] {
  const { accountId, issuerId, may } = useConsoleContext()
  const [debouncedQuery] = useDebouncedValue(trigger?.query ?? '', 150)
  const ids = { accountId, issuerId }
  const inIssuer = issuerId !== ''
  const isMention = inIssuer && trigger?.kind === 'mention'
  const isReference = inIssuer && trigger?.kind === 'reference'
  const usersQuery = useQuery(
    users,
    { ...ids, limit: 6, search: debouncedQuery || null },
    { pause: !isMention || !may('users') },
  )
  const clientsQuery = useQuery(
    clients,
    { ...ids, limit: 4, search: debouncedQuery || null },
    { pause: !isReference || !may('clients') },
  )
  const organizationsQuery = useQuery(
    organizations,
    { ...ids, limit: 4, search: debouncedQuery || null },
    { pause: !isReference || !may('organizations') },
  )
  if (isMention) {
    return (usersQuery.data?.users.data ?? []).map((user) => {
      const name = toReferenceName(userName(user))
      return { id: user.id, name, icon: 'user', text: `@[${name}](${user.id})` }
    })
  }
  if (!isReference) return []
  const toReferenceSuggestion =
    (type: 'client' | 'org', icon: IconName) => (found: { id: string; name?: string | null }) => {
      const name = toReferenceName(found.name ?? found.id)
      return { id: found.id, name, icon, text: `[[${type}:${found.id}|${name}]]` }
    }
  return [
    ...(organizationsQuery.data?.organizations.data ?? []).map(toReferenceSuggestion('org', 'building')),
    ...(clientsQuery.data?.clients.data ?? []).map(toReferenceSuggestion('client', 'app')),
  ]
}
