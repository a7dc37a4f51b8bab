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
  page: LazyExoticComponent<ComponentType>
  /** Another heading of the menu stands above it. */
  heading?: string
}

export const resources: readonly Resource[] = [
  {
    in: 'account',
    path: '',
    label: 'Overview',
    icon: 'home',
    needs: 'account',
    page: lazy(() => import('./pages/accounts/overview')),
  },
  {
    in: 'account',
    path: 'issuers',
    label: 'Issuers',
    icon: 'gate',
    needs: 'issuers',
    page: lazy(() => import('./pages/issuers/list')),
  },
  {
    in: 'account',
    path: 'administrators',
    label: 'Administrators',
    icon: 'shield',
    needs: 'account',
    page: lazy(() => import('./pages/administrators')),
  },
  {
    in: 'account',
    path: 'api-keys',
    label: 'API keys',
    icon: 'key',
    needs: 'apiKeys',
    page: lazy(() => import('./pages/api-keys')),
  },
  {
    in: 'account',
    path: 'webhooks',
    label: 'Webhooks',
    icon: 'webhook',
    needs: 'webhooks',
    page: lazy(() => import('./pages/webhooks')),
  },
  {
    in: 'account',
    path: 'events',
    label: 'Events',
    icon: 'pulse',
    needs: 'events',
    page: lazy(() => import('./pages/events')),
  },
  {
    in: 'account',
    path: 'domains',
    label: 'Domains',
    icon: 'globe',
    needs: 'domains',
    page: lazy(() => import('./pages/domains')),
  },
  {
    in: 'account',
    path: 'credits',
    label: 'Credits',
    icon: 'inbox',
    needs: 'ledgerEntries',
    page: lazy(() => import('./pages/payments/credits')),
  },
  {
    in: 'account',
    path: 'payment-methods',
    label: 'Payment methods',
    icon: 'card',
    needs: 'paymentMethods',
    page: lazy(() => import('./pages/payments/methods')),
  },
  {
    in: 'account',
    path: 'notes',
    label: 'Notes',
    icon: 'note',
    needs: 'notes',
    page: lazy(() => import('./pages/notes')),
  },
  {
    in: 'account',
    path: 'settings',
    label: 'Settings',
    icon: 'settings',
    needs: 'account',
    page: lazy(() => import('./pages/accounts/settings')),
  },
  {
    in: 'issuer',
    path: '',
    label: 'Overview',
    icon: 'home',
    needs: 'issuer',
    page: lazy(() => import('./pages/issuers/overview')),
  },
  {
    in: 'issuer',
    path: 'clients',
    label: 'Clients',
    icon: 'app',
    needs: 'clients',
    page: lazy(() => import('./pages/clients')),
  },
  {
    in: 'issuer',
    path: 'users',
    label: 'Users',
    icon: 'users',
    needs: 'users',
    page: lazy(() => import('./pages/users')),
  },
  {
    in: 'issuer',
    path: 'approvals',
    label: 'Approvals',
    icon: 'inbox',
    needs: 'approvals',
    page: lazy(() => import('./pages/approvals')),
  },
  {
    in: 'issuer',
    path: 'organizations',
    label: 'Organizations',
    icon: 'building',
    needs: 'organizations',
    page: lazy(() => import('./pages/organizations')),
  },
  {
    in: 'issuer',
    path: 'agents',
    label: 'Agents',
    icon: 'robot',
    needs: 'agents',
    page: lazy(() => import('./pages/agents')),
  },
  {
    in: 'issuer',
    path: 'authentication',
    label: 'Authentication',
    icon: 'fingerprint',
    needs: 'authMethods',
    page: lazy(() => import('./pages/authentication')),
  },
  {
    in: 'issuer',
    path: 'signing-keys',
    label: 'Signing keys',
    icon: 'key',
    needs: 'issuer',
    page: lazy(() => import('./pages/signing-keys')),
  },
  {
    in: 'issuer',
    path: 'settings',
    label: 'Settings',
    icon: 'settings',
    needs: 'issuer',
    page: lazy(() => import('./pages/issuers/settings')),
  },
]
