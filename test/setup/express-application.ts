/**
 * A typical web application: Express with express-openid-connect, in its own process. The parent process sends an
 * `Application` as the first message. The application sends the message `listening` when it accepts requests.
 */
import { once } from 'node:events'
import express from 'express'
import { auth, type ConfigParams } from 'express-openid-connect'

/** The message with the configuration of the application. */
export interface Application {
  port: number
  config: ConfigParams
}

if (process.send) {
  const [{ port, config }] = (await once(process, 'message')) as [Application]
  const application = express()
  application.use(auth(config))
  application.get('/profile', async (req, res) => {
    if (!req.oidc.isAuthenticated()) return void (await res.oidc.login({ returnTo: '/profile' }))
    res.json({ claims: req.oidc.user, profile: await req.oidc.fetchUserInfo() })
  })
  application.get('/goodbye', (req, res) => void res.json({ signedIn: req.oidc.isAuthenticated() }))
  application.listen(port, '127.0.0.1', () => process.send!('listening'))
}
