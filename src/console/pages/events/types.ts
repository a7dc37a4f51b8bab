/** Every type of event, in groups by what it is about. */
import { catalogue } from 'documents/tables'
import type { Option } from '../../form/fields'

function groupOf(type: string): string {
  const words = type.split('.')[0]!.replaceAll('_', ' ')
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`
}

export const eventTypes: readonly Option[] = Object.keys(catalogue).map((type) => ({
  value: type,
  label: type,
  group: groupOf(type),
}))
