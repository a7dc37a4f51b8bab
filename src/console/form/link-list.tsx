/** Edits a list of links, each with a type and a URL. */
import { ActionIcon, Button, Group, Input, Stack, TextInput } from '@mantine/core'
import { Icon } from '../components/icon'

/** A link. Keys other than `type` and `url` are preserved. */
export interface NamedLink {
  type?: string
  url?: string
  [key: string]: unknown
}

interface Props {
  path: string
  label: string
  hint?: string | undefined
  error?: string | undefined
  value: readonly NamedLink[]
  disabled: boolean
  onChange: (value: NamedLink[]) => void
}

export function LinkList({ path, label, hint, error, value, disabled, onChange }: Props) {
  const updateLink = (at: number, patch: NamedLink) =>
    onChange(value.map((link, index) => (index === at ? { ...link, ...patch } : link)))
  return (
    <Input.Wrapper label={label} description={hint} error={error} labelElement="div">
      <Stack gap="xs" mt={6}>
        {value.map((link, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a link has no stable key while it is edited
          <Group key={at} gap="xs" wrap="nowrap" align="flex-start">
            <TextInput
              w={120}
              aria-label={`${label}, ${at + 1}: type`}
              placeholder="github"
              value={link.type ?? ''}
              disabled={disabled}
              autoComplete="off"
              onChange={(event) => updateLink(at, { type: event.currentTarget.value })}
            />
            <TextInput
              flex={1}
              aria-label={`${label}, ${at + 1}: URL`}
              placeholder="https://github.com/acme"
              inputMode="url"
              value={link.url ?? ''}
              disabled={disabled}
              autoComplete="off"
              onChange={(event) => updateLink(at, { url: event.currentTarget.value })}
              {...(at === 0 && { 'data-field': path })}
            />
            {!disabled && (
              <ActionIcon
                variant="subtle"
                color="gray"
                size="lg"
                aria-label={`Remove link ${at + 1}`}
                onClick={() => onChange(value.filter((_, index) => index !== at))}
              >
                <Icon name="close" />
              </ActionIcon>
            )}
          </Group>
        ))}
        {!disabled && (
          <Group>
            <Button
              size="xs"
              variant="default"
              leftSection={<Icon name="plus" size={14} />}
              onClick={() => onChange([...value, {}])}
            >
              Add link
            </Button>
          </Group>
        )}
      </Stack>
    </Input.Wrapper>
  )
}
