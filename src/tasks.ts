/** Every kind of queued work. Periodic work stands in schedule.ts. */
import type { Task } from './platform/queue.js'
import { backchannelLogout } from './resources/sessions/backchannel-logout.js'

export const tasks: readonly Task[] = [backchannelLogout]
