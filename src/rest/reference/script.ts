/** The script of the reference page: search, deep links and copy buttons. The page is readable without it. */
export const script = String.raw`
(() => {
  try {
    const chosen = localStorage.getItem('mantine-color-scheme-value')
    if (chosen === 'dark' || chosen === 'light') document.documentElement.dataset.scheme = chosen
  } catch {}
  const input = document.getElementById('search')
  const count = document.getElementById('count')
  const operations = [...document.querySelectorAll('.op')]
  const groups = [...document.querySelectorAll('main section')]
  for (const one of document.querySelectorAll('[data-with-script]')) one.hidden = false

  const applySearch = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
    let found = 0
    for (const one of operations) {
      const fits = words.every((word) => one.dataset.text.includes(word))
      one.hidden = !fits
      if (fits) found++
    }
    for (const group of groups) {
      const empty = !group.querySelector('.op:not([hidden])')
      group.hidden = empty
      const entry = document.querySelector('aside a[href="#' + group.id + '"]')
      if (entry) entry.parentElement.hidden = empty
    }
    count.textContent = words.length === 0 ? operations.length + ' operations'
      : found === 0 ? 'No operation matches. Try a shorter search.'
      : found + ' of ' + operations.length + ' operations'
    const address = new URL(location.href)
    if (words.length > 0) address.searchParams.set('q', input.value)
    else address.searchParams.delete('q')
    if (address.href !== location.href) history.replaceState(null, '', address)
  }
  input.addEventListener('input', applySearch)
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') { input.value = ''; applySearch() }
    if (event.key === 'Enter') {
      // Enter would also toggle the summary that receives the focus.
      event.preventDefault()
      const first = document.querySelector('.op:not([hidden])')
      if (first) { first.open = true; first.querySelector('summary').focus() }
    }
  })
  addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.target === input) return
    event.preventDefault()
    input.focus()
  })

  const open = () => {
    const one = document.getElementById(decodeURIComponent(location.hash.slice(1)))
    if (!one?.classList.contains('op')) return
    if (one.hidden) { input.value = ''; applySearch() }
    one.open = true
    one.scrollIntoView()
  }
  addEventListener('hashchange', open)
  for (const one of operations) one.addEventListener('toggle', () => {
    if (one.open && location.hash !== '#' + one.id) history.replaceState(null, '', location.pathname + location.search + '#' + one.id)
  })

  document.addEventListener('click', async (event) => {
    const button = event.target.closest('button[data-copy]')
    if (!button) return
    await navigator.clipboard.writeText(button.closest('figure').querySelector('pre').textContent)
    button.textContent = 'Copied'
    setTimeout(() => { button.textContent = 'Copy' }, 1500)
  })

  input.value = new URL(location.href).searchParams.get('q') ?? ''
  applySearch()
  open()
})()
`
