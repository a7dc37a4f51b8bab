/**
 * Who is counted as one stranger: an address of IPv4, the /64 network of one of IPv6, in which a host has as many
 * addresses as it likes.
 * @param ip an address; null where it is unknown
 */
export function networkOf(ip: string | null): string {
  if (ip === null || !ip.includes(':') || ip.includes('.')) return ip ?? ''
  const [before = '', after] = ip.toLowerCase().split('::')
  const groups = before === '' ? [] : before.split(':')
  const rest = after ? after.split(':') : []
  const zeros = after === undefined ? [] : Array<string>(8 - groups.length - rest.length).fill('0')
  return `${[...groups, ...zeros, ...rest]
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`
}
