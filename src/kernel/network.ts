/**
 * Returns the network by which anonymous callers are rate-limited: an IPv4 address, or the /64 prefix of an IPv6
 * address, because a host can use every address in its /64. Does not change an IPv6 address that ends in dotted IPv4.
 * @param ip an IP address; null when unknown, for which the result is an empty string
 */
export function networkOf(ip: string | null): string {
  if (ip === null || !ip.includes(':') || ip.includes('.')) return ip ?? ''
  const [before = '', after] = ip.toLowerCase().split('::')
  const groups = before === '' ? [] : before.split(':')
  const trailing = after ? after.split(':') : []
  const zeros = after === undefined ? [] : Array<string>(8 - groups.length - trailing.length).fill('0')
  return `${[...groups, ...zeros, ...trailing]
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`
}
