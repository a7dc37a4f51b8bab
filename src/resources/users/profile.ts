/** Rules of a user's profile: an object whose searchable claims (listing.ts) have a maximum length. */
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'

const searchableClaims = ['name', 'given_name', 'family_name', 'email']

const claimText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

export const profileRules = fieldSchemas.object.superRefine((profile, ctx) => {
  for (const name of searchableClaims) {
    if (claimText(profile[name]).length <= limits.maxIndexedClaimLength) continue
    ctx.addIssue({
      code: 'custom',
      path: [name],
      message: `must have at most ${limits.maxIndexedClaimLength} characters.`,
      params: { code: 'too_big' },
    })
  }
})
