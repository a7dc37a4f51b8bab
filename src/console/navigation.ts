/**
 * The console's resources: one row each. A row makes the entry of the menu, the addresses below `path`, and the entry of
 * the command palette; its page is loaded when it is opened.
 */
import { type ComponentType, type LazyExoticComponent, lazy } from 'react'
import type { IconName } from './parts/icon'

export interface Resource {
  /** What it belongs to. */
  in: 'account' | 'issuer'
  /** Below the address of what it belongs to; empty for its overview. */
  path: string
  label: string
  icon: IconName
  /** The query that somebody must be allowed for the entry to be offered. */
  needs: string
  /** Answers `path` and everything below it. */
  page: LazyExoticComponent<ComponentType> & { load: () => Promise<unknown> }
  /** Another heading of the menu stands above it. */
  heading?: string
}

const loaded = (load: () => Promise<{ default: ComponentType }>) => Object.assign(lazy(load), { load })

export const resources: readonly Resource[] = [
  {
    in: 'account',
    path: '',
    label: 'Overview',
    icon: 'home',
    needs: 'account',
    page: loaded(() => import('./pages/accounts/overview')),
  },
  {
    in: 'account',
    path: 'issuers',
    label: 'Issuers',
    icon: 'gate',
    needs: 'issuers',
    page: loaded(() => import('./pages/issuers/list')),
  },
  {
    in: 'account',
    path: 'administrators',
    label: 'Administrators',
    icon: 'shield',
    needs: 'account',
    page: loaded(() => import('./pages/administrators')),
  },
  {
    in: 'account',
    path: 'api-keys',
    label: 'API keys',
    icon: 'key',
    needs: 'apiKeys',
    page: loaded(() => import('./pages/api-keys')),
  },
  {
    in: 'account',
    path: 'webhooks',
    label: 'Webhooks',
    icon: 'webhook',
    needs: 'webhooks',
    page: loaded(() => import('./pages/webhooks')),
  },
  {
    in: 'account',
    path: 'events',
    label: 'Events',
    icon: 'pulse',
    needs: 'events',
    page: loaded(() => import('./pages/events')),
  },
  {
    in: 'account',
    path: 'domains',
    label: 'Domains',
    icon: 'globe',
    needs: 'domains',
    page: loaded(() => import('./pages/domains')),
  },
  {
    in: 'account',
    path: 'credits',
    label: 'Credits',
    icon: 'inbox',
    needs: 'ledgerEntries',
    page: loaded(() => import('./pages/payments/credits')),
  },
  {
    in: 'account',
    path: 'payment-methods',
    label: 'Payment methods',
    icon: 'card',
    needs: 'paymentMethods',
    page: loaded(() => import('./pages/payments/methods')),
  },
  {
    in: 'account',
    path: 'notes',
    label: 'Notes',
    icon: 'note',
    needs: 'notes',
    page: loaded(() => import('./pages/notes')),
  },
  {
    in: 'account',
    path: 'settings',
    label: 'Settings',
    icon: 'settings',
    needs: 'account',
    page: loaded(() => import('./pages/accounts/settings')),
  },
  {
    in: 'issuer',
    path: '',
    label: 'Overview',
    icon: 'home',
    needs: 'issuer',
    page: loaded(() => import('./pages/issuers/overview')),
  },
  {
    in: 'issuer',
    path: 'clients',
    label: 'Clients',
    icon: 'app',
    needs: 'clients',
    page: loaded(() => import('./pages/clients')),
  },
  {
    in: 'issuer',
    path: 'users',
    label: 'Users',
    icon: 'users',
    needs: 'users',
    page: loaded(() => import('./pages/users')),
  },
  {
    in: 'issuer',
    path: 'approvals',
    label: 'Approvals',
    icon: 'inbox',
    needs: 'approvals',
    page: loaded(() => import('./pages/approvals')),
  },
  {
    in: 'issuer',
    path: 'organizations',
    label: 'Organizations',
    icon: 'building',
    needs: 'organizations',
    page: loaded(() => import('./pages/organizations')),
  },
  {
    in: 'issuer',
    path: 'agents',
    label: 'Agents',
    icon: 'robot',
    needs: 'agents',
    page: loaded(() => import('./pages/agents')),
  },
  {
    in: 'issuer',
    path: 'authentication',
    label: 'Authentication',
    icon: 'fingerprint',
    needs: 'authMethods',
    page: loaded(() => import('./pages/authentication')),
  },
  {
    in: 'issuer',
    path: 'signing-keys',
    label: 'Signing keys',
    icon: 'key',
    needs: 'issuer',
    page: loaded(() => import('./pages/signing-keys')),
  },
  {
    in: 'issuer',
    path: 'settings',
    label: 'Settings',
    icon: 'settings',
    needs: 'issuer',
    page: loaded(() => import('./pages/issuers/settings')),
  },
]

/** Begins to load the page of an address, while it is still being asked who is there and what they may do. */
export function loadAhead(pathname: string): void {
  const [, issuer, place = ''] = /^\/console\/accounts\/[^/]+(\/issuers\/iss_[^/]+)?(?:\/([^/]+))?/.exec(pathname) ?? []
  const of = issuer ? 'issuer' : 'account'
  const resource = resources.find(({ in: where, path }) => where === of && path === place)
  // What fails is told when the page is drawn.
  resource?.page.load().catch(() => {})
}
