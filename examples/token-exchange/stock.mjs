// The service that orders calls. The token contains the user (sub), the calling service (act), the organization
// (org_id) and the scopes (scope).
import { serve } from './service.mjs'

export const startStock = () =>
  serve('https://stock.example', ({ sub, act, org_id, scope, exp, iat }) => {
    if (!scope.split(' ').includes('stock:read')) throw new Error('the scope stock:read is required')
    return { tulips: 40, token: { sub, act, org_id, scope, seconds: exp - iat } }
  })
