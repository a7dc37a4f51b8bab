import { Menu, UnstyledButton, useMantineColorScheme, VisuallyHidden } from '@mantine/core'
import { useRef } from 'react'
import { Icon } from '../parts/icon'
import { forgetAccount } from '../remember'
import { usePerson } from './person'
import classes from './shell.module.css'

const schemes = [
  { value: 'light', label: 'Light', icon: 'sun' },
  { value: 'dark', label: 'Dark', icon: 'moon' },
  { value: 'auto', label: 'As the system', icon: 'device' },
] as const

/** Who is signed in; light and dark; the way out. */
export function PersonMenu() {
  const person = usePerson()
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const form = useRef<HTMLFormElement>(null)
  const name = person?.name ?? person?.username ?? ''
  return (
    <div className={classes.foot}>
      {/* A form and not a request: its answer leads to the issuer, with what no script is to see. */}
      <form ref={form} method="post" action="/console/sign-out" />
      <Menu position="top-start" width={220}>
        <Menu.Target>
          <UnstyledButton className={classes.pill}>
            <span className={classes.letter} data-round aria-hidden="true">
              {name.charAt(0).toUpperCase()}
            </span>
            <span>
              <span className={classes.strong}>
                {name}
                <VisuallyHidden>: menu</VisuallyHidden>
              </span>
              {person?.name && <span className={classes.weak}>{person.username}</span>}
            </span>
            <Icon name="chevronDown" size={14} />
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>Appearance</Menu.Label>
          {schemes.map(({ value, label, icon }) => (
            <Menu.Item
              key={value}
              leftSection={<Icon name={icon} />}
              rightSection={colorScheme === value ? <Icon name="check" size={14} /> : null}
              onClick={() => setColorScheme(value)}
            >
              {label}
            </Menu.Item>
          ))}
          <Menu.Divider />
          <Menu.Item component="a" href="/playground" leftSection={<Icon name="code" />}>
            GraphQL playground
          </Menu.Item>
          <Menu.Item component="a" href="/docs" leftSection={<Icon name="note" />}>
            REST reference
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item
            leftSection={<Icon name="signOut" />}
            onClick={() => {
              forgetAccount()
              form.current?.submit()
            }}
          >
            Sign out
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </div>
  )
}
