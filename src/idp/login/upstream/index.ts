/** Every upstream provider by its kind of authentication method (spec 2.4). */
import type { UpstreamKind } from '../../../resources/issuers/upstream-settings.js'
import { apple } from './apple.js'
import { github } from './github.js'
import { oauth2 } from './oauth2.js'
import { oidc } from './oidc.js'
import type { Upstream } from './provider.js'

export const upstreams: Readonly<Record<UpstreamKind, Upstream>> = { oidc, oauth2, apple, github }
