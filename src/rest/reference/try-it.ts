/**
 * The script of "Try it": a form of each operation, which sends the request with the console session. The session is a
 * cookie that scripts cannot read; /console/v1 adds the access token. The page sends requests only on a click.
 */
export const tryItScript = String.raw`
  /** The console session, once there is one: the account of the signed-in user. */
  let session
  /** Values of path parameters from earlier requests and responses, by name. */
  const known = {}
  /** The ETags of earlier responses, by path. */
  const etags = {}

  const signInPrompt = (operation, text, maxAge) => {
    const query = new URLSearchParams({ return_to: '/docs#' + operation.id, ...(maxAge && { max_age: maxAge }) })
    return element('p', { class: 'note' }, text + ' ', element('a', { href: '/console/sign-in?' + query }, 'Sign in to the console'))
  }

  const loadSession = async () => {
    const response = await fetch('/console/session?optional')
    const loaded = await response.json()
    session = response.ok && loaded.user ? loaded : undefined
    // The console stores the account that was last open.
    known.account_id ??= readStored('gatehouse-last-account') ?? session?.home?.accountId
  }

  document.addEventListener('click', async (event) => {
    const button = event.target.closest('[data-try]')
    if (!button) return
    const operation = button.closest('.op')
    const panel = operation.querySelector('.try')
    const isOpen = button.getAttribute('aria-expanded') === 'true'
    button.setAttribute('aria-expanded', !isOpen)
    panel.hidden = isOpen
    if (isOpen || panel.querySelector('form')) return
    try {
      if (!session) await loadSession()
      panel.replaceChildren(session ? createForm(operation) : signInPrompt(operation, 'You are not signed in. Requests are sent with the session of the console.'))
    } catch {
      panel.replaceChildren(element('p', { class: 'note' }, 'The server cannot be reached.'))
    }
    panel.querySelector('input, select, textarea, button, a')?.focus()
  })

  const createField = (row) => {
    const { in: location, name, values } = row.dataset
    const isRequired = row.querySelector('.need') !== null
    const attributes = { name: location + ':' + name, required: isRequired, autocomplete: 'off', spellcheck: 'false' }
    const options = values?.split(' ').map((value) => element('option', {}, value)) ?? []
    const field = values
      ? element('select', attributes, ...(isRequired ? [] : [element('option', { value: '' }, 'Any')]), ...options)
      : element('input', attributes)
    return element('label', {}, element('span', {}, name, ...(isRequired ? [] : [element('small', {}, 'optional')])), field)
  }

  /** Returns the example of the body, in which known ids replace those of the example. */
  const bodyOf = (operation) =>
    operation.querySelector('template')?.content.textContent.replace(/"(\w+_id)": "[^"]*"/g, (text, name) => known[name] ? JSON.stringify(name) + ': ' + JSON.stringify(known[name]) : text)

  const createForm = (operation) => {
    const body = bodyOf(operation)
    const lines = body?.split('\n').length ?? 0
    const form = element('form', { 'aria-label': 'Try ' + operation.querySelector('h3').textContent },
      ...[...operation.querySelectorAll('tr[data-in]')].map(createField),
      ...(body === undefined ? [] : [element('label', {}, element('span', {}, 'Body'), element('textarea', { name: 'body', rows: Math.min(lines + 1, 18), spellcheck: 'false' }, body))]),
      element('div', { class: 'send' }, element('button', { type: 'submit', class: 'primary' }, 'Send request'), element('p', { role: 'status' })),
      element('div', { class: 'result' }))
    form.addEventListener('input', () => prefill(operation, form))
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      void submit(operation, form)
    })
    prefill(operation, form)
    return form
  }

  const pathOf = (operation, values) =>
    operation.dataset.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values.get('path:' + name).trim()))

  /** Fills fields with known values, except those that the person has filled in. */
  const prefill = (operation, form) => {
    for (const field of form.querySelectorAll('input')) {
      if (field === document.activeElement && field.value !== '') continue
      const [location, name] = field.name.split(':')
      const value = location === 'path' ? known[name] : name === 'If-Match' ? etags[pathOf(operation, new FormData(form))] : undefined
      if (value === undefined || (field.value !== '' && field.value !== field.dataset.filled)) continue
      field.value = field.dataset.filled = value
    }
  }

  const dialog = document.querySelector('dialog')
  dialog.addEventListener('click', (event) => {
    const button = event.target.closest('button')
    if (button) dialog.close(button.value)
  })
  const confirmRequest = (operation, path) => new Promise((done) => {
    const title = operation.querySelector('h3').textContent
    dialog.querySelector('h2').textContent = title + '?'
    dialog.querySelector('p').textContent = 'This sends ' + operation.dataset.method + ' ' + path + ' and changes the data of this deployment.'
    dialog.querySelector('.danger').textContent = title
    dialog.returnValue = ''
    dialog.addEventListener('close', () => done(dialog.returnValue === 'send'), { once: true })
    dialog.showModal()
  })

  const submit = async (operation, form) => {
    const status = form.querySelector('[role=status]')
    const result = form.querySelector('.result')
    const button = form.querySelector('[type=submit]')
    const values = new FormData(form)
    const path = pathOf(operation, values)
    const headers = { 'X-Gatehouse-Console': '1' }
    const query = new URLSearchParams()
    for (const [key, text] of values) {
      const [location, name] = key.split(':')
      const value = text.trim()
      if (location === 'path') known[name] = value
      if (location === 'query' && value !== '') query.set(name, value)
      if (location === 'header' && value !== '') headers[name] = value
    }
    const body = values.get('body')?.trim() || undefined
    result.replaceChildren()
    if (body !== undefined) {
      headers['Content-Type'] = 'application/json'
      try { JSON.parse(body) } catch (error) {
        status.textContent = 'The body is not valid JSON: ' + error.message
        form.querySelector('textarea').focus()
        return
      }
    }
    if (operation.dataset.confirm !== undefined && !(await confirmRequest(operation, path))) return
    button.disabled = true
    status.textContent = 'Sending…'
    try {
      const search = String(query) && '?' + query
      const began = performance.now()
      const response = await fetch('/console' + path + search, { method: operation.dataset.method, headers, body })
      const text = await response.text()
      status.textContent = [response.status, response.statusText, 'in ' + Math.round(performance.now() - began) + ' ms'].filter(Boolean).join(' ')
      status.dataset.ok = response.ok
      showResponse(operation, form, path, response, text)
    } catch {
      status.textContent = 'The server cannot be reached.'
    }
    button.disabled = false
  }

  const showResponse = (operation, form, path, response, text) => {
    let json
    try { json = JSON.parse(text) } catch {}
    const headers = [...response.headers].map(([name, value]) => name + ': ' + value).join('\n')
    const result = form.querySelector('.result')
    const code = (label, content) => element('pre', { tabindex: 0, role: 'region', 'aria-label': label }, content)
    result.replaceChildren(
      ...(text === '' ? [] : [code('Response body', json === undefined ? text : JSON.stringify(json, null, 2))]),
      element('details', { class: 'more' }, element('summary', {}, 'Headers'), code('Response headers', headers)))
    if (response.status === 401) {
      if (json?.error === 'insufficient_user_authentication') result.prepend(signInPrompt(operation, 'This operation requires a recent sign-in.', json.max_age ?? 300))
      else {
        session = undefined
        form.replaceWith(signInPrompt(operation, 'Your console session has ended.'))
      }
    }
    if (!response.ok) return
    const etag = response.headers.get('ETag')
    if (etag) etags[path] = etag
    const item = Array.isArray(json?.data) ? json.data[0] : json?.data
    const parameter = idParameterOf(operation.dataset.path)
    if (parameter && typeof item?.id === 'string') known[parameter] = item.id
    for (const one of document.querySelectorAll('.try form')) prefill(one.closest('.op'), one)
  }

  /** Returns the path parameter of the resources of a path: of /v1/accounts and /v1/accounts/{account_id}, account_id. */
  const idParameterOf = (path) => {
    for (const { dataset } of operations) {
      const match = /^(.*)\/\{(\w+)\}$/.exec(dataset.path)
      if (match && (match[1] === path || dataset.path === path)) return match[2]
    }
  }
`
