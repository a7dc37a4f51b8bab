/** The page of one thing, with tabs that have addresses of their own. */
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import classes from './detail-page.module.css'
import { type Crumb, Page } from './page'

export interface Tab {
  /** Last part of its address; empty for the first. */
  path: string
  label: string
  /** Not offered where false. */
  offered?: boolean
  content: () => ReactNode
}

interface Props {
  title: string
  lead?: ReactNode
  badge?: ReactNode
  actions?: ReactNode
  crumbs?: readonly Crumb[]
  /** The thing's own address, below /console. */
  href: string
  tabs: readonly Tab[]
  /** Above the tabs: what holds for all of them. */
  above?: ReactNode
}

export function DetailPage({ href, tabs, above, ...page }: Props) {
  const [location] = useLocation()
  const offered = tabs.filter((tab) => tab.offered !== false)
  const current = location.slice(href.length + 1).split('/')[0] ?? ''
  const active = offered.find(({ path }) => path === current) ?? offered[0]!
  return (
    <Page {...page}>
      {above}
      <nav className={classes.tabs} aria-label={`Parts of ${page.title}`}>
        {offered.map(({ path, label }) => (
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
