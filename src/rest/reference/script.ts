/**
 * The script of the reference page: search, links to operations and schemas, language tabs and copy buttons. The page is
 * readable without it. The scripts of this folder run in one function, see mount.ts.
 */
export const pageScript = String.raw`
  const LANGUAGE_KEY = 'gatehouse-docs-language'
  /** Local storage can be disabled. The page then works without it. */
  const readStored = (key) => { try { return localStorage.getItem(key) } catch { return null } }
  const element = (tag, attributes, ...children) => {
    const created = document.createElement(tag)
    for (const [name, value] of Object.entries(attributes)) if (value !== undefined && value !== false) created.setAttribute(name, value === true ? '' : value)
    created.append(...children)
    return created
  }

  const scheme = readStored('mantine-color-scheme-value')
  if (scheme === 'dark' || scheme === 'light') document.documentElement.dataset.scheme = scheme
  for (const one of document.querySelectorAll('[data-with-script]')) one.hidden = false
  const isNarrow = matchMedia('(max-width:56rem)')
  const showContents = () => { document.querySelector('aside details').open = !isNarrow.matches }
  isNarrow.addEventListener('change', showContents)
  showContents()

  // Search
  const input = document.getElementById('search')
  const count = document.getElementById('count')
  const entries = [...document.querySelectorAll('main .op')]
  const operations = entries.filter((one) => one.dataset.method)
  const groups = [...document.querySelectorAll('main > section')]
  const namesIn = (root) => [...root.querySelectorAll('tbody th code')].map((code) => code.textContent.toLowerCase())
  /** Returns a schema and the schemas that it extends. */
  const withBases = (name) => {
    const schema = document.getElementById('schema-' + name)
    if (!schema) return []
    const bases = [...schema.querySelectorAll('.fields > p > a')].flatMap((link) => withBases(link.textContent))
    return [schema, ...bases]
  }
  /** Returns the names in the examples, which include the fields of objects without a schema. */
  const namesInExamples = (one) => {
    const texts = [one.querySelector('template')?.content.textContent, one.querySelector('.body > div > figure')?.textContent]
    return texts.flatMap((text) => [...(text ?? '').matchAll(/"([^"\s]+)":/g)].map(([, name]) => name.toLowerCase()))
  }
  let searchIndex
  const createSearchIndex = () => entries.map((one) => {
    const schemas = [...one.querySelectorAll('[data-schema]')].flatMap((details) => withBases(details.dataset.schema))
    return { one, text: one.dataset.text, names: [...new Set([...[one, ...schemas].flatMap(namesIn), ...namesInExamples(one)])] }
  })
  const applySearch = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
    if (words.length > 0) searchIndex ??= createSearchIndex()
    let found = 0
    for (const { one, text, names } of searchIndex ?? []) {
      const isMatch = (word) => text.includes(word) || names.some((name) => name.includes(word))
      one.hidden = !words.every(isMatch)
      if (!one.hidden && one.dataset.method) found++
      // The names of fields that match are shown, because they are not visible in a closed operation.
      const fields = names.filter((name) => words.some((word) => !text.includes(word) && name.includes(word)))
      one.querySelector('.hit')?.remove()
      if (!one.hidden && fields.length > 0) one.querySelector('summary').append(element('span', { class: 'hit' }, 'has ' + fields.slice(0, 3).join(', ')))
    }
    for (const group of groups) {
      const isEmpty = words.length > 0 && !group.querySelector('.op:not([hidden])')
      group.hidden = isEmpty
      const link = document.querySelector('aside a[href="#' + group.id + '"]')
      if (link) link.parentElement.hidden = isEmpty
    }
    count.textContent = words.length === 0 ? ''
      : found === 0 ? 'No operation matches. Try a shorter search.'
      : found + ' of ' + operations.length + ' operations'
    const address = new URL(location.href)
    if (words.length > 0) address.searchParams.set('q', input.value)
    else address.searchParams.delete('q')
    if (address.href !== location.href) history.replaceState(null, '', address)
  }
  const clearSearch = () => { input.value = ''; applySearch() }
  input.addEventListener('input', applySearch)
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') clearSearch()
    if (event.key !== 'Enter') return
    // Enter would also toggle the summary that receives the focus.
    event.preventDefault()
    const shown = entries.filter((one) => !one.hidden)
    const first = shown.find((one) => !one.querySelector('.hit')) ?? shown[0]
    if (first) { first.open = true; first.querySelector('summary').focus() }
  })
  addEventListener('keydown', (event) => {
    const isTyping = event.target.closest?.('input, textarea, select')
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping) return
    event.preventDefault()
    input.focus()
  })

  // Links to operations, schemas and sections
  const openTarget = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
    if (!target) return
    if (target.closest('[hidden]')) clearSearch()
    if (target.classList.contains('op')) target.open = true
    target.scrollIntoView()
  }
  addEventListener('hashchange', openTarget)
  // A link to the current fragment does not change it, but must open the target again.
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[href^="#"]')
    if (link && link.hash === location.hash) openTarget()
  })
  for (const one of entries) one.addEventListener('toggle', () => {
    if (!one.open) return
    prepare(one)
    if (location.hash !== '#' + one.id) history.replaceState(null, '', location.pathname + location.search + '#' + one.id)
  })
  document.addEventListener('toggle', (event) => {
    const { schema: name, graphql } = event.target.dataset ?? {}
    if (!event.target.open) return
    if (name) {
      delete event.target.dataset.schema
      event.target.querySelector('p').replaceWith(...withBases(name).map((schema) => schema.querySelector('.fields').cloneNode(true)))
    }
    if (graphql !== undefined) {
      const query = event.target.querySelector('pre').textContent
      event.target.querySelector('p a').href = '/playground#' + new URLSearchParams({ query })
    }
  }, true)

  // Language tabs
  let language = readStored(LANGUAGE_KEY)
  const languageOf = (figure) => figure.querySelector('figcaption').firstChild.textContent
  const showLanguage = (group) => {
    const figures = [...group.querySelectorAll('figure')]
    const shown = figures.find((figure) => languageOf(figure) === language) ?? figures[0]
    for (const figure of figures) figure.hidden = figure !== shown
    for (const tab of group.querySelectorAll('[role=tab]')) {
      const isSelected = tab.getAttribute('aria-controls') === shown.id
      tab.setAttribute('aria-selected', isSelected)
      tab.tabIndex = isSelected ? 0 : -1
    }
  }
  /** Adds the tabs and the copy buttons of an operation when it opens. */
  const prepare = (operation) => {
    for (const pre of operation.querySelectorAll('figure > pre:not([tabindex])')) {
      const title = pre.previousSibling.textContent
      pre.tabIndex = 0
      pre.setAttribute('role', 'region')
      pre.setAttribute('aria-label', title)
      pre.previousSibling.append(element('button', { type: 'button', 'data-copy': true, 'aria-label': 'Copy ' + title }, 'Copy'))
    }
    const group = operation.querySelector('.samples')
    if (!group || group.querySelector('[role=tablist]')) return
    const tabs = [...group.querySelectorAll('figure')].map((figure) => {
      figure.id = operation.id + '-' + languageOf(figure)
      figure.setAttribute('role', 'tabpanel')
      figure.setAttribute('aria-label', languageOf(figure))
      return element('button', { type: 'button', role: 'tab', 'aria-controls': figure.id }, languageOf(figure))
    })
    group.prepend(element('div', { role: 'tablist', 'aria-label': 'Language of the sample' }, ...tabs))
    showLanguage(group)
  }
  const chooseLanguage = (tab) => {
    language = tab.textContent
    try { localStorage.setItem(LANGUAGE_KEY, language) } catch {}
    // The tabs above the selected one can change their height. The selected tab keeps its place on the screen.
    const top = tab.getBoundingClientRect().top
    for (const group of document.querySelectorAll('.samples:has([role=tablist])')) showLanguage(group)
    scrollBy({ top: tab.getBoundingClientRect().top - top, behavior: 'instant' })
  }
  document.addEventListener('keydown', (event) => {
    const tab = event.target.closest?.('[role=tab]')
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (!tab || !step) return
    event.preventDefault()
    const tabs = [...tab.parentElement.children]
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length]
    chooseLanguage(next)
    next.focus()
  })

  document.addEventListener('click', async (event) => {
    const tab = event.target.closest('[role=tab]')
    if (tab) chooseLanguage(tab)
    const button = event.target.closest('button[data-copy]')
    if (!button) return
    await navigator.clipboard.writeText(button.closest('figure').querySelector('pre').textContent)
    button.textContent = 'Copied'
    setTimeout(() => { button.textContent = 'Copy' }, 1500)
  })

  input.value = new URL(location.href).searchParams.get('q') ?? ''
  applySearch()
  openTarget()
`
