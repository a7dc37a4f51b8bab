import { expect, test } from '@jest/globals'
import '../../src/server/event-targets.js'
import { eventTarget, propertiesOf } from '../../src/resources/declaration.js'
import { EventTargetType } from '../../src/resources/events/event.js'

test('every type of event target has a declared class; tokens have no fields', () => {
  const missing = Object.keys(EventTargetType).filter((type) => !eventTarget(type))
  expect(missing).toEqual(['token'])
  for (const type of Object.keys(EventTargetType))
    if (type !== 'token') expect(propertiesOf(eventTarget(type)!).map(({ name }) => name)).toContain('createdAt')
})
