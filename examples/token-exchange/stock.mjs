// The service behind. It sees who asks (sub), through whom (act), for which organization, and with which scopes.
import { serve } from './service.mjs'

export const startStock = () =>
  serve('https://stock.example', ({ sub, act, org_id, scope, exp, iat }) => {
    if (!scope.split(' ').includes('stock:read')) throw new Error('this needs stock:read')
    return { tulips: 40, asked: { sub, act, org_id, scope, seconds: exp - iat } }
  })
