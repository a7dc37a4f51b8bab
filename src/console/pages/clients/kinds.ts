/** The kinds of applications that people connect, each with what it needs to be registered. */
import type { CreateClientInput } from 'documents/types'
import type { IconName } from '../../parts/icon'

export type KindName = 'spa' | 'web' | 'native' | 'm2m'

export interface Kind {
  name: KindName
  label: string
  text: string
  icon: IconName
  confidential: boolean
  grants: readonly string[]
  /** What a callback of it looks like. */
  callback: string
}

export const kinds: readonly Kind[] = [
  {
    name: 'spa',
    label: 'Single-page app',
    text: 'Runs in the browser: React, Vue, Svelte, plain JavaScript.',
    icon: 'code',
    confidential: false,
    grants: ['authorization_code', 'refresh_token'],
    callback: 'http://localhost:5173/callback',
  },
  {
    name: 'web',
    label: 'Server app',
    text: 'Runs on a server that can keep a secret: Express, Next.js, Rails, Django.',
    icon: 'server',
    confidential: true,
    grants: ['authorization_code', 'refresh_token'],
    callback: 'http://localhost:8080/callback',
  },
  {
    name: 'native',
    label: 'Native app',
    text: 'Runs on a phone, a desktop or in a terminal.',
    icon: 'phone',
    confidential: false,
    grants: ['authorization_code', 'refresh_token'],
    callback: 'http://127.0.0.1/callback',
  },
  {
    name: 'm2m',
    label: 'Machine',
    text: 'A job or a service that acts for itself, without anybody signing in.',
    icon: 'robot',
    confidential: true,
    grants: ['client_credentials'],
    callback: '',
  },
]

interface Registered {
  confidential: boolean
  settings: Record<string, unknown>
}

export function kindOf({ confidential, settings }: Registered): Kind {
  const openid = settings['openid'] as { application_type?: string } | undefined
  const name = openid?.application_type ?? (confidential ? 'web' : 'spa')
  return kinds.find((kind) => kind.name === name) ?? kinds[0]!
}

/** What is sent to register a client of this kind. */
export function inputFor(
  kind: Kind,
  name: string,
  callbacks: readonly string[],
  after: readonly string[],
): CreateClientInput {
  return {
    name,
    type: 'internal',
    confidential: kind.confidential,
    settings: {
      openid: {
        application_type: kind.name,
        grant_types: kind.grants,
        ...(kind.name !== 'm2m' && { redirect_uris: callbacks, post_logout_redirect_uris: after }),
      },
    },
  }
}
