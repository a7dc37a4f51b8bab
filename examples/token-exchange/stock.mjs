// The second service. The token names the user (sub), the calling service (act), the organization and the scopes.
import { serve } from './service.mjs'

export const startStock = () =>
  serve('https://stock.example', ({ sub, act, org_id, scope, exp, iat }) => {
    if (!scope.split(' ').includes('stock:read')) throw new Error('the scope stock:read is required')
    return { tulips: 40, asked: { sub, act, org_id, scope, seconds: exp - iat } }
  })
