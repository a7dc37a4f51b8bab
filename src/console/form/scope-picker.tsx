/** Platform scopes as a table: what they are about, and what may be done with it. */
import { Checkbox, Input } from '@mantine/core'
import { stems } from 'documents/tables'
import classes from './scope-picker.module.css'

interface Props {
  label: string
  hint?: string | undefined
  fault?: string | undefined
  /** Scopes that may be given; `manage` stands for all three actions and whatever else. */
  offered: readonly string[]
  value: readonly string[]
  disabled: boolean
  onChange: (value: string[]) => void
}

const actions = ['read', 'write', 'delete', 'manage'] as const
const ALL = 'svc:all'

/** Does a list of scopes hold this one, by itself or by one that implies it? */
const holds = (scopes: readonly string[], scope: string): boolean =>
  scopes.includes(scope) || scopes.includes(ALL) || scopes.includes(scope.replace(/:\w+$/, ':manage'))

export function ScopePicker({ label, hint, fault, offered, value, disabled, onChange }: Props) {
  const toggle = (stem: string, action: string, wanted: boolean) => {
    const others = value.filter((scope) => scope !== `${stem}:${action}`)
    onChange(wanted ? [...others, `${stem}:${action}`] : others)
  }
  const rows = Object.entries(stems).filter(([stem]) =>
    actions.some((action) => holds([...offered, ...value], `${stem}:${action}`)),
  )
  return (
    <Input.Wrapper label={label} description={hint} error={fault} labelElement="div">
      {/* Without a box that takes the cursor, whoever has no mouse could not scroll it. */}
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
                  const isHeld = value.includes(scope)
                  const isImplied = !isHeld && holds(value, scope)
                  return (
                    <td key={action}>
                      <Checkbox
                        size="xs"
                        aria-label={scope}
                        checked={isHeld || isImplied}
                        disabled={disabled || isImplied || (!isHeld && !holds(offered, scope))}
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
