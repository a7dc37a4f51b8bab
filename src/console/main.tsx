import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import './console.css'
import { MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Provider } from 'urql'
import { Console } from './console'
import { client } from './graphql/client'
import { prefetchPage } from './navigation'
import { theme } from './theme'

/**
 * The CSP nonce of the page. Browsers refuse style elements that scripts insert without this nonce. Some
 * libraries read it from `__webpack_nonce__`.
 */
const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''
Object.assign(globalThis, { __webpack_nonce__: nonce })

prefetchPage(location.pathname)
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <Notifications position="bottom-right" />
      <Provider value={client}>
        <Console />
      </Provider>
    </MantineProvider>
  </StrictMode>,
)
