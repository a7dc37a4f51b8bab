/** Every kind of queued work. Periodic work stands in schedule.ts. */
import { mailTask } from './platform/mail.js'
import type { Task } from './platform/queue.js'
import { reconcileTopup } from './resources/payments/reconcile.js'
import { backchannelLogout } from './resources/sessions/backchannel-logout.js'

export const tasks: readonly Task[] = [mailTask, backchannelLogout, reconcileTopup]
