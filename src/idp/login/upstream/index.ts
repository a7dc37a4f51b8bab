/** Upstream providers by kind of authentication method (docs/contract.md#authentication-methods). */
import type { UpstreamKind } from '../../../resources/issuers/upstream-settings.js'
import { apple } from './apple.js'
import { github } from './github.js'
import { oauth2 } from './oauth2.js'
import { oidc } from './oidc.js'
import type { UpstreamProvider } from './provider.js'

export const upstreamProviders: Readonly<Record<UpstreamKind, UpstreamProvider>> = { oidc, oauth2, apple, github }
