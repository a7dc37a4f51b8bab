/** All event types, grouped by the resource that they concern. */
import { eventCatalog } from 'documents/tables'
import type { Option } from '../../form/fields'

function groupOf(type: string): string {
  const words = type.split('.')[0]!.replaceAll('_', ' ')
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`
}

export const eventTypeOptions: readonly Option[] = Object.keys(eventCatalog).map((type) => ({
  value: type,
  label: type,
  group: groupOf(type),
}))
