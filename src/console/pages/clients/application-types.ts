/** The types of applications, each with the settings of the client that is created for it. */
import type { CreateClientInput } from 'documents/types'
import type { IconName } from '../../components/icon'

export type ApplicationTypeName = 'spa' | 'web' | 'native' | 'm2m'

export interface ApplicationType {
  name: ApplicationTypeName
  label: string
  text: string
  icon: IconName
  confidential: boolean
  grantTypes: readonly string[]
  /** A typical redirect URI; empty if the type has none. */
  exampleRedirectUri: string
}

export const applicationTypes: readonly ApplicationType[] = [
  {
    name: 'spa',
    label: 'Single-page app',
    text: 'Runs in the browser: React, Vue, Svelte, plain JavaScript.',
    icon: 'code',
    confidential: false,
    grantTypes: ['authorization_code', 'refresh_token'],
    exampleRedirectUri: 'http://localhost:5173/callback',
  },
  {
    name: 'web',
    label: 'Server app',
    text: 'Runs on a server that can keep a secret: Express, Next.js, Rails, Django.',
    icon: 'server',
    confidential: true,
    grantTypes: ['authorization_code', 'refresh_token'],
    exampleRedirectUri: 'http://localhost:8080/callback',
  },
  {
    name: 'native',
    label: 'Native app',
    text: 'Runs on a phone, a desktop or in a terminal.',
    icon: 'phone',
    confidential: false,
    grantTypes: ['authorization_code', 'refresh_token'],
    exampleRedirectUri: 'http://127.0.0.1/callback',
  },
  {
    name: 'm2m',
    label: 'Machine-to-machine',
    text: 'A job or service that authenticates as itself, without a user.',
    icon: 'robot',
    confidential: true,
    grantTypes: ['client_credentials'],
    exampleRedirectUri: '',
  },
]

interface RegisteredClient {
  confidential: boolean
  settings: Record<string, unknown>
}

export function applicationTypeOf({ confidential, settings }: RegisteredClient): ApplicationType {
  const openid = settings['openid'] as { application_type?: string } | undefined
  const name = openid?.application_type ?? (confidential ? 'web' : 'spa')
  return applicationTypes.find((kind) => kind.name === name) ?? applicationTypes[0]!
}

/**
 * Builds the input that creates a client of this type.
 * @param algorithm the signing algorithm; undefined for the default of the server
 */
export function buildClientInput(
  applicationType: ApplicationType,
  name: string,
  redirectUris: readonly string[],
  postLogoutRedirectUris: readonly string[],
  algorithm?: string,
): CreateClientInput {
  return {
    name,
    type: 'internal',
    confidential: applicationType.confidential,
    settings: {
      openid: {
        application_type: applicationType.name,
        grant_types: applicationType.grantTypes,
        ...(algorithm && { response_signature_alg: algorithm }),
        ...(applicationType.name !== 'm2m' && {
          redirect_uris: redirectUris,
          post_logout_redirect_uris: postLogoutRedirectUris,
        }),
      },
    },
  }
}
