/** The plans of the conformance suite that the runner executes. */
import type { Requirements } from './issuer-under-test.js'

export interface Plan {
  /** The name in `--plan` and in URLs of the suite. */
  id: string
  title: string
  /** The name in the suite. */
  name: string
  /** The choices that the suite leaves to its user. */
  variant?: Record<string, string>
  requirements: Requirements
}

const basic = { server_metadata: 'discovery', client_registration: 'static_client' }
const logout = { client_registration: 'static_client', response_type: 'code' }
const algorithm = 'ES256'

export const plans: readonly Plan[] = [
  {
    id: 'config',
    title: 'Config OP',
    name: 'oidcc-config-certification-test-plan',
    requirements: { algorithm },
  },
  ...(['ES256', 'RS256', 'EdDSA'] as const).map((algorithm) => ({
    id: `basic-${algorithm.toLowerCase()}`,
    title: `Basic OP, ${algorithm}`,
    name: 'oidcc-basic-certification-test-plan',
    variant: basic,
    requirements: { algorithm },
  })),
  {
    id: 'form-post',
    title: 'Form Post Basic OP',
    name: 'oidcc-formpost-basic-certification-test-plan',
    variant: basic,
    requirements: { algorithm },
  },
  {
    id: 'rp-initiated-logout',
    title: 'RP-Initiated Logout OP',
    name: 'oidcc-rp-initiated-logout-certification-test-plan',
    variant: logout,
    requirements: { algorithm },
  },
  {
    id: 'back-channel-logout',
    title: 'Back-Channel Logout OP',
    name: 'oidcc-backchannel-rp-initiated-logout-certification-test-plan',
    variant: logout,
    requirements: { algorithm, backchannelLogout: true },
  },
  {
    id: 'session-management',
    title: 'Session Management OP',
    name: 'oidcc-session-management-certification-test-plan',
    variant: logout,
    requirements: { algorithm },
  },
  {
    id: 'fapi2',
    title: 'FAPI 2.0 Security Profile Final: private_key_jwt, DPoP',
    name: 'fapi2-security-profile-final-test-plan',
    variant: {
      fapi_profile: 'plain_fapi',
      client_auth_type: 'private_key_jwt',
      sender_constrain: 'dpop',
      openid: 'openid_connect',
      authorization_request_type: 'simple',
    },
    requirements: { algorithm, fapi2: true },
  },
]
