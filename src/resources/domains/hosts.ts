/** Host names of domains (decisions D27): what may be one, and how it is written. */
import { domainToASCII } from 'node:url'
import { parse } from 'tldts'
import { invalidField } from '../../kernel/errors.js'

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * A host name as it is stored: lower case, A-labels (IDNA).
 * @throws invalid_request for addresses, single labels, public suffixes and anything that is not a domain name
 */
export function hostOf(field: string, text: string): string {
  const host = normalHost(text)
  if (host === undefined) {
    throw invalidField(field, 'invalid_format', 'must be a domain name such as login.example.com.')
  }
  // Nobody owns co.uk, and github.io is everybody's: both lists of the public suffix list count.
  if (parse(host, { allowPrivateDomains: true }).publicSuffix === host) {
    throw invalidField(field, 'public_suffix', 'is a public suffix, below which anybody can have a domain.')
  }
  return host
}

/** The stored form of a text, or undefined when no domain is written like that. */
export function normalHost(text: string): string | undefined {
  const name = text.trim().replace(/\.$/, '')
  // domainToASCII cuts a host out of whatever holds one: user@host, host:port, host/path.
  const host = /[\s/?#@:\\[\]%]/.test(name) ? '' : domainToASCII(name).toLowerCase()
  const labels = host.split('.')
  const isName = host.length <= 253 && labels.length >= 2 && labels.every((part) => label.test(part))
  return isName && !/^\d+$/.test(labels.at(-1) ?? '') ? host : undefined
}
