/** What a profile may hold: whatever its owner likes, but for the claims that users are found by (listing.ts). */
import { rules } from '../../kernel/input.js'

const found = ['name', 'given_name', 'family_name', 'email']
/** Characters. Of longer ones no index entry can be made. */
const LONGEST = 500

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

/** An object whose claims to search by are no longer than an index can hold. */
export const profileRules = rules.object.superRefine((profile, ctx) => {
  for (const name of found) {
    if (textOf(profile[name]).length <= LONGEST) continue
    ctx.addIssue({
      code: 'custom',
      path: [name],
      message: `must have at most ${LONGEST} characters.`,
      params: { code: 'too_big' },
    })
  }
})
