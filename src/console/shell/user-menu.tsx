import { Menu, UnstyledButton, useMantineColorScheme, VisuallyHidden } from '@mantine/core'
import { useRef } from 'react'
import { Icon } from '../components/icon'
import { clearLastAccountId } from '../last-account'
import { useConsoleSession } from './console-session'
import classes from './shell.module.css'

const colorSchemes = [
  { value: 'light', label: 'Light', icon: 'sun' },
  { value: 'dark', label: 'Dark', icon: 'moon' },
  { value: 'auto', label: 'System', icon: 'device' },
] as const

/** The user menu: color scheme, links, sign-out, and the version of Gatehouse. */
export function UserMenu() {
  const session = useConsoleSession()
  const currentUser = session?.user
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const signOutForm = useRef<HTMLFormElement>(null)
  const name = currentUser?.name ?? currentUser?.username ?? ''
  return (
    <div className={classes.foot}>
      {/* A form instead of a fetch: the response redirects to the issuer with an ID token that scripts must not see. */}
      <form ref={signOutForm} method="post" action="/console/sign-out" />
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
              {currentUser?.name && <span className={classes.weak}>{currentUser.username}</span>}
            </span>
            <Icon name="chevronDown" size={14} />
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>Appearance</Menu.Label>
          {colorSchemes.map(({ value, label, icon }) => (
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
              clearLastAccountId()
              signOutForm.current?.submit()
            }}
          >
            Sign out
          </Menu.Item>
          {session && (
            <>
              <Menu.Divider />
              <Menu.Label>Gatehouse {session.version}</Menu.Label>
            </>
          )}
        </Menu.Dropdown>
      </Menu>
    </div>
  )
}
