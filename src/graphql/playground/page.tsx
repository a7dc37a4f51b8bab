/** The entry point of the playground. The editor's workers must be set up before the page is rendered. */
import './workers.js'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import '@graphiql/react/style.css'
import '@graphiql/plugin-doc-explorer/style.css'
import '@graphiql/plugin-history/style.css'
import 'graphiql/graphiql.css'
import './page.css'
import { Playground } from './playground.js'

createRoot(document.getElementById('page')!).render(
  <StrictMode>
    <Playground />
  </StrictMode>,
)
