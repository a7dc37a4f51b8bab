/**
 * The resources of the console, one row each. A row defines the menu entry, the routes below `path`, and the entry of
 * the command palette. Within each level, the menu shows the rows in this order. The code of a page is loaded when the
 * page is opened.
 */
import { type ComponentType, type LazyExoticComponent, lazy } from 'react'
import type { IconName } from './components/icon'

export interface ConsoleResource {
  /** Whether the resource belongs to an account or to an issuer. */
  level: 'account' | 'issuer'
  /** Path below the path of the account or issuer; empty for the overview. */
  path: string
  label: string
  icon: IconName
  /** The entry and the page are shown only to callers who may run this query. */
  requiredQuery: string
  /** The page that renders `path` and, except for the overview, the paths below it. `load` fetches its code. */
  page: LazyExoticComponent<ComponentType> & { load: () => Promise<unknown> }
}

const lazyPage = (load: () => Promise<{ default: ComponentType }>) => Object.assign(lazy(load), { load })

export const consoleResources: readonly ConsoleResource[] = [
  {
    level: 'account',
    path: '',
    label: 'Overview',
    icon: 'home',
    requiredQuery: 'account',
    page: lazyPage(() => import('./pages/accounts/overview')),
  },
  {
    level: 'account',
    path: 'issuers',
    label: 'Issuers',
    icon: 'gate',
    requiredQuery: 'issuers',
    page: lazyPage(() => import('./pages/issuers/list')),
  },
  {
    level: 'account',
    path: 'administrators',
    label: 'Administrators',
    icon: 'shield',
    requiredQuery: 'account',
    page: lazyPage(() => import('./pages/administrators')),
  },
  {
    level: 'account',
    path: 'api-keys',
    label: 'API keys',
    icon: 'key',
    requiredQuery: 'apiKeys',
    page: lazyPage(() => import('./pages/api-keys')),
  },
  {
    level: 'account',
    path: 'webhooks',
    label: 'Webhooks',
    icon: 'webhook',
    requiredQuery: 'webhooks',
    page: lazyPage(() => import('./pages/webhooks')),
  },
  {
    level: 'account',
    path: 'events',
    label: 'Events',
    icon: 'pulse',
    requiredQuery: 'events',
    page: lazyPage(() => import('./pages/events')),
  },
  {
    level: 'account',
    path: 'domains',
    label: 'Domains',
    icon: 'globe',
    requiredQuery: 'domains',
    page: lazyPage(() => import('./pages/domains')),
  },
  {
    level: 'account',
    path: 'credits',
    label: 'Credits',
    icon: 'inbox',
    requiredQuery: 'ledgerEntries',
    page: lazyPage(() => import('./pages/payments/credits')),
  },
  {
    level: 'account',
    path: 'payment-methods',
    label: 'Payment methods',
    icon: 'card',
    requiredQuery: 'paymentMethods',
    page: lazyPage(() => import('./pages/payments/methods')),
  },
  {
    level: 'account',
    path: 'notes',
    label: 'Notes',
    icon: 'note',
    requiredQuery: 'notes',
    page: lazyPage(() => import('./pages/notes')),
  },
  {
    level: 'account',
    path: 'settings',
    label: 'Settings',
    icon: 'settings',
    requiredQuery: 'account',
    page: lazyPage(() => import('./pages/accounts/settings')),
  },
  {
    level: 'issuer',
    path: '',
    label: 'Overview',
    icon: 'home',
    requiredQuery: 'issuer',
    page: lazyPage(() => import('./pages/issuers/overview')),
  },
  {
    level: 'issuer',
    path: 'clients',
    label: 'Clients',
    icon: 'app',
    requiredQuery: 'clients',
    page: lazyPage(() => import('./pages/clients')),
  },
  {
    level: 'issuer',
    path: 'users',
    label: 'Users',
    icon: 'users',
    requiredQuery: 'users',
    page: lazyPage(() => import('./pages/users')),
  },
  {
    level: 'issuer',
    path: 'approvals',
    label: 'Approvals',
    icon: 'inbox',
    requiredQuery: 'approvals',
    page: lazyPage(() => import('./pages/approvals')),
  },
  {
    level: 'issuer',
    path: 'organizations',
    label: 'Organizations',
    icon: 'building',
    requiredQuery: 'organizations',
    page: lazyPage(() => import('./pages/organizations')),
  },
  {
    level: 'issuer',
    path: 'agents',
    label: 'Agents',
    icon: 'robot',
    requiredQuery: 'agents',
    page: lazyPage(() => import('./pages/agents')),
  },
  {
    level: 'issuer',
    path: 'authentication',
    label: 'Authentication',
    icon: 'fingerprint',
    requiredQuery: 'authMethods',
    page: lazyPage(() => import('./pages/authentication')),
  },
  {
    level: 'issuer',
    path: 'signing-keys',
    label: 'Signing keys',
    icon: 'key',
    requiredQuery: 'issuer',
    page: lazyPage(() => import('./pages/signing-keys')),
  },
  {
    level: 'issuer',
    path: 'settings',
    label: 'Settings',
    icon: 'settings',
    requiredQuery: 'issuer',
    page: lazyPage(() => import('./pages/issuers/settings')),
  },
]

/** Starts to load the code of a page while the session and the permissions are still being fetched. */
export function prefetchPage(pathname: string): void {
  const [, issuer, segment = ''] =
    /^\/console\/accounts\/[^/]+(\/issuers\/iss_[^/]+)?(?:\/([^/]+))?/.exec(pathname) ?? []
  const level = issuer ? 'issuer' : 'account'
  const resource = consoleResources.find(({ level: where, path }) => where === level && path === segment)
  // A failed import is reported when the page is rendered.
  resource?.page.load().catch(() => {})
}
