/** Edits custom claims: the name of each claim, its source and the tokens that contain it. */
import { ActionIcon, Button, Checkbox, Group, Input, Select, Stack, TextInput } from '@mantine/core'
import { Icon } from '../components/icon'
import classes from './claim-list.module.css'
import { claimPlaces, claimSources, type EditedClaim, joinSource, splitSource } from './claim-values'

interface Props {
  path: string
  label: string
  hint?: string | undefined
  error?: string | undefined
  value: readonly EditedClaim[]
  disabled: boolean
  onChange: (value: EditedClaim[]) => void
}

const allPlaces = claimPlaces.map(({ value }) => value)

/** Claims that proxies and Kubernetes read, each added with one button. */
const presets: readonly EditedClaim[] = [
  { name: 'groups', source: 'groups', in: allPlaces },
  { name: 'roles', source: 'scopes', in: allPlaces },
]

export function ClaimList({ path, label, hint, error, value, disabled, onChange }: Props) {
  const names = new Set(value.map(({ name }) => name))
  const replace = (at: number, claim: EditedClaim) =>
    onChange(value.map((other, index) => (index === at ? claim : other)))
  return (
    <Input.Wrapper label={label} description={hint} error={error} labelElement="div">
      <Stack gap="sm" mt={8}>
        {value.map((claim, at) => (
          <ClaimRow
            // biome-ignore lint/suspicious/noArrayIndexKey: a claim has no stable key while it is edited
            key={at}
            claim={claim}
            number={at + 1}
            disabled={disabled}
            onChange={(changed) => replace(at, changed)}
            onRemove={() => onChange(value.filter((_, index) => index !== at))}
            {...(at === 0 && { fieldPath: path })}
          />
        ))}
        {value.length === 0 && <p className={classes.empty}>No custom claims.</p>}
        {!disabled && (
          <Group gap="xs">
            <AddButton
              label="Add claim"
              onClick={() => onChange([...value, { name: '', source: 'user.metadata.', in: allPlaces }])}
            />
            {presets
              .filter(({ name }) => !names.has(name))
              .map((preset) => (
                <AddButton
                  key={preset.name}
                  label={`Add ${preset.name} claim`}
                  onClick={() => onChange([...value, preset])}
                />
              ))}
          </Group>
        )}
      </Stack>
    </Input.Wrapper>
  )
}

const AddButton = ({ label, onClick }: { label: string; onClick: () => void }) => (
  <Button size="xs" variant="default" leftSection={<Icon name="plus" size={14} />} onClick={onClick}>
    {label}
  </Button>
)

interface RowProps {
  claim: EditedClaim
  number: number
  disabled: boolean
  /** Path of the form field, for the row that gets the focus when the field has an error. */
  fieldPath?: string
  onChange: (claim: EditedClaim) => void
  onRemove: () => void
}

function ClaimRow({ claim, number, disabled, fieldPath, onChange, onRemove }: RowProps) {
  const { kind, key } = splitSource(claim.source)
  const keyExample = claimSources.find(({ value }) => value === kind)?.keyExample
  return (
    <fieldset className={classes.claim}>
      <legend className={classes.legend}>{`Claim ${number}`}</legend>
      <div className={classes.fields}>
        <TextInput
          label="Name"
          placeholder="department"
          value={claim.name}
          disabled={disabled}
          autoComplete="off"
          onChange={(event) => onChange({ ...claim, name: event.currentTarget.value })}
          {...(fieldPath && { 'data-field': fieldPath })}
        />
        <Select
          label="Source"
          data={claimSources.map(({ value, label }) => ({ value, label }))}
          value={kind}
          disabled={disabled}
          allowDeselect={false}
          checkIconPosition="right"
          onChange={(next) => next && onChange({ ...claim, source: joinSource(next, key) })}
        />
        {keyExample && (
          <TextInput
            label="Key"
            placeholder={keyExample}
            value={key}
            disabled={disabled}
            autoComplete="off"
            onChange={(event) => onChange({ ...claim, source: joinSource(kind, event.currentTarget.value) })}
          />
        )}
      </div>
      <Group justify="space-between" align="flex-start" gap="sm" mt="sm" wrap="nowrap">
        <Checkbox.Group
          aria-label={`Tokens with claim ${number}`}
          value={[...claim.in]}
          onChange={(next) => onChange({ ...claim, in: allPlaces.filter((place) => next.includes(place)) })}
        >
          <Group gap="md" mt={5}>
            {claimPlaces.map(({ value, label }) => (
              <Checkbox key={value} size="xs" value={value} label={label} disabled={disabled} />
            ))}
          </Group>
        </Checkbox.Group>
        {!disabled && (
          <ActionIcon variant="subtle" color="gray" aria-label={`Remove claim ${number}`} onClick={onRemove}>
            <Icon name="trash" />
          </ActionIcon>
        )}
      </Group>
    </fieldset>
  )
}
