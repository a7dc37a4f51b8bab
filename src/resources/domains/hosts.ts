/** Validation and normalization of host names of domains (docs/contract.md#common-field-rules). */
import { domainToASCII } from 'node:url'
import { parse } from 'tldts'
import { invalidField } from '../../kernel/errors.js'

const labelPattern = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Normalizes a host name to its stored form: lower case, A-labels (IDNA).
 * @throws invalid_request for IP addresses, single labels, public suffixes and invalid domain names
 */
export function requireHost(field: string, text: string): string {
  const host = normalizeHost(text)
  if (host === undefined) {
    throw invalidField(field, 'invalid_format', 'must be a domain name such as login.example.com.')
  }
  // No account may add a public suffix, neither one of a registry (co.uk) nor a private one (github.io).
  if (parse(host, { allowPrivateDomains: true }).publicSuffix === host) {
    throw invalidField(field, 'public_suffix', 'must not be a public suffix, under which anyone can register a domain.')
  }
  return host
}

/** Returns the stored form of a host name, or undefined if it is not a domain name. */
export function normalizeHost(text: string): string | undefined {
  const name = text.trim().replace(/\.$/, '')
  // These characters are rejected first, because domainToASCII would extract the host from user@host or host:port.
  const host = /[\s/?#@:\\[\]%]/.test(name) ? '' : domainToASCII(name).toLowerCase()
  const labels = host.split('.')
  const isName = host.length <= 253 && labels.length >= 2 && labels.every((part) => labelPattern.test(part))
  return isName && !/^\d+$/.test(labels.at(-1) ?? '') ? host : undefined
}
