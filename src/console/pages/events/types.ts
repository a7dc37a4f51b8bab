/** Every type of event, in groups by what it is about. */
import { catalogue } from 'documents/tables'
import type { OptionGroup } from '../../form/fields'

function grouped(): OptionGroup[] {
  const groups = new Map<string, { value: string; label: string }[]>()
  for (const type of Object.keys(catalogue)) {
    const stem = type.split('.')[0]!
    groups.set(stem, [...(groups.get(stem) ?? []), { value: type, label: type }])
  }
  return [...groups].map(([stem, options]) => {
    const words = stem.replaceAll('_', ' ')
    return { label: `${words.charAt(0).toUpperCase()}${words.slice(1)}`, options }
  })
}

export const eventTypeGroups: readonly OptionGroup[] = grouped()
