/** A page with tabs that have their own URLs. */
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import classes from './detail-page.module.css'
import { type Crumb, Page } from './page'

export interface Tab {
  /** The segment of the URL after `href`; empty for the first tab. */
  path: string
  label: string
  /** False hides the tab. */
  isVisible?: boolean
  content: () => ReactNode
}

interface Props {
  title: string
  lead?: ReactNode
  badge?: ReactNode
  actions?: ReactNode
  crumbs?: readonly Crumb[]
  /** Path of the page, below /console. */
  href: string
  tabs: readonly Tab[]
  /** Content above the tabs. */
  beforeTabs?: ReactNode
}

export function DetailPage({ href, tabs, beforeTabs, ...page }: Props) {
  const [location] = useLocation()
  const visibleTabs = tabs.filter((tab) => tab.isVisible !== false)
  const current = location.slice(href.length + 1).split('/')[0] ?? ''
  const active = visibleTabs.find(({ path }) => path === current) ?? visibleTabs[0]!
  return (
    <Page {...page}>
      {beforeTabs}
      <nav className={classes.tabs} aria-label={`Sections of ${page.title}`}>
        {visibleTabs.map(({ path, label }) => (
          <Link
            key={path}
            href={path === '' ? href : `${href}/${path}`}
            className={classes.tab}
            aria-current={path === active.path ? 'page' : undefined}
          >
            {label}
          </Link>
        ))}
      </nav>
      {active.content()}
    </Page>
  )
}
