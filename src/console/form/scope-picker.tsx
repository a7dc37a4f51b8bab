/** Selects platform scopes in a table of resources and actions. */
import { Checkbox, Input } from '@mantine/core'
import { scopeResources } from 'documents/tables'
import classes from './scope-picker.module.css'

interface Props {
  label: string
  hint?: string | undefined
  error?: string | undefined
  /** Scopes that the caller may grant; `manage` implies the other actions of the resource, `svc:all` all scopes. */
  availableScopes: readonly string[]
  value: readonly string[]
  disabled: boolean
  onChange: (value: string[]) => void
}

const actions = ['read', 'write', 'delete', 'manage'] as const
const ALL_SCOPES = 'svc:all'

/** Returns true if a list contains the scope or a scope that implies it. */
const includesScope = (scopes: readonly string[], scope: string): boolean =>
  scopes.includes(scope) || scopes.includes(ALL_SCOPES) || scopes.includes(scope.replace(/:\w+$/, ':manage'))

export function ScopePicker({ label, hint, error, availableScopes, value, disabled, onChange }: Props) {
  const toggle = (stem: string, action: string, checked: boolean) => {
    const others = value.filter((scope) => scope !== `${stem}:${action}`)
    onChange(checked ? [...others, `${stem}:${action}`] : others)
  }
  const rows = Object.entries(scopeResources).filter(([stem]) =>
    actions.some((action) => includesScope([...availableScopes, ...value], `${stem}:${action}`)),
  )
  return (
    <Input.Wrapper label={label} description={hint} error={error} labelElement="div">
      {/* A disabled table has no focusable checkbox, so the frame must be focusable to be scrolled by keyboard. */}
      <div className={classes.frame} {...(disabled && { role: 'region', 'aria-label': label, tabIndex: 0 })}>
        <table className={classes.table} aria-label={label}>
          <thead>
            <tr>
              <th scope="col">Resource</th>
              {actions.map((action) => (
                <th key={action} scope="col">
                  {action}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(([stem, text]) => (
              <tr key={stem}>
                <th scope="row">
                  {text}
                  <code>{stem}</code>
                </th>
                {actions.map((action) => {
                  const scope = `${stem}:${action}`
                  const isSelected = value.includes(scope)
                  const isImplied = !isSelected && includesScope(value, scope)
                  return (
                    <td key={action}>
                      <Checkbox
                        size="xs"
                        aria-label={scope}
                        checked={isSelected || isImplied}
                        disabled={disabled || isImplied || (!isSelected && !includesScope(availableScopes, scope))}
                        onChange={(event) => toggle(stem, action, event.currentTarget.checked)}
                      />
                    </td>
                  )
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Input.Wrapper>
  )
}
