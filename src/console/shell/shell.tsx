/** The frame of the pages of accounts and issuers: the menu at the side, or in a drawer on narrow screens. */
import { ActionIcon, Drawer, UnstyledButton } from '@mantine/core'
import { useDisclosure, useHotkeys } from '@mantine/hooks'
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { Icon } from '../components/icon'
import { AccountSwitcher } from './account-switcher'
import { MainNavigation } from './main-navigation'
import classes from './shell.module.css'
import { UserMenu } from './user-menu'

const CommandPalette = lazy(() => import('./command-palette'))

export function Shell({ children }: { children: ReactNode }) {
  const [drawer, { open, close }] = useDisclosure()
  const [palette, setPalette] = useState(false)
  const [location] = useLocation()
  useHotkeys([['mod+K', () => setPalette(true)]], [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new address closes the drawer
  useEffect(close, [location])
  const openPalette = () => {
    close()
    setPalette(true)
  }
  const sidebar = (
    <>
      <AccountSwitcher />
      <UnstyledButton className={classes.find} onClick={openPalette}>
        <Icon name="search" size={15} />
        <span>Find anything</span>
        <kbd>{/Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘K' : 'Ctrl K'}</kbd>
      </UnstyledButton>
      <MainNavigation />
      <Suspense>
        <UserMenu />
      </Suspense>
    </>
  )
  return (
    <div className={classes.shell}>
      <a href="#content" className={classes.skip}>
        Skip to content
      </a>
      <header className={classes.top}>
        <ActionIcon variant="subtle" color="gray" size="lg" onClick={open} aria-label="Open the menu">
          <Icon name="menu" size={20} />
        </ActionIcon>
        <span className={classes.word}>Gatehouse</span>
        <ActionIcon variant="subtle" color="gray" size="lg" onClick={openPalette} aria-label="Find anything">
          <Icon name="search" size={19} />
        </ActionIcon>
      </header>
      <aside className={classes.side}>{sidebar}</aside>
      <Drawer opened={drawer} onClose={close} size={280} title="Gatehouse" classNames={{ body: classes.drawer }}>
        {sidebar}
      </Drawer>
      <main id="content" className={classes.main} tabIndex={-1}>
        {children}
      </main>
      {palette && (
        <Suspense>
          <CommandPalette onClose={() => setPalette(false)} />
        </Suspense>
      )}
    </div>
  )
}
