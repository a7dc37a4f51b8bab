/** What stands around every page: the menu at the side, or behind a button where there is little room. */
import { ActionIcon, Drawer, UnstyledButton } from '@mantine/core'
import { useDisclosure, useHotkeys } from '@mantine/hooks'
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { Icon } from '../parts/icon'
import { AccountSwitcher } from './account-switcher'
import { Menu } from './menu'
import { PersonMenu } from './person-menu'
import classes from './shell.module.css'

const Palette = lazy(() => import('./palette'))

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
  const side = (
    <>
      <AccountSwitcher />
      <UnstyledButton className={classes.find} onClick={openPalette}>
        <Icon name="search" size={15} />
        <span>Find anything</span>
        <kbd>{/Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘K' : 'Ctrl K'}</kbd>
      </UnstyledButton>
      <Menu />
      <Suspense>
        <PersonMenu />
      </Suspense>
    </>
  )
  return (
    <div className={classes.shell}>
      <a href="#content" className={classes.skip}>
        To the content
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
      <aside className={classes.side}>{side}</aside>
      <Drawer opened={drawer} onClose={close} size={280} title="Gatehouse" classNames={{ body: classes.drawer }}>
        {side}
      </Drawer>
      <main id="content" className={classes.main} tabIndex={-1}>
        {children}
      </main>
      {palette && (
        <Suspense>
          <Palette onClose={() => setPalette(false)} />
        </Suspense>
      )}
    </div>
  )
}
