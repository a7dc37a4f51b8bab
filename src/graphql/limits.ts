/** What a document may cost before anything of it runs (security rule 26): depth, aliases, and the rows it may ask for. */
import {
  type ASTVisitor,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type SelectionSetNode,
  type ValidationContext,
} from 'graphql'
import { DEFAULT_LIMIT, MAX_LIMIT } from '../kernel/page.js'

export const MAX_TOKENS = 5000
export const MAX_DEPTH = 12
export const MAX_FIELDS = 500
export const MAX_ROOT_FIELDS = 20
/** Fields that cost more than the rows of their answers: health counts users, and takes most of a
 * second for an issuer that has 100,000. */
const fieldCosts: ReadonlyMap<string, number> = new Map([['health', 500]])
/** Rows of all lists together, multiplied down the tree: account → 10 issuers → 100 clients each costs 1,011. */
export const MAX_COST = 20_000

/** Variables are not known to a validation rule: a limit given by one counts as the largest. */
function pageSize(field: FieldNode): number {
  const limit = field.arguments?.find((argument) => argument.name.value === 'limit')?.value
  if (!limit) return DEFAULT_LIMIT
  return limit.kind === 'IntValue' ? Math.min(Number(limit.value), MAX_LIMIT) : MAX_LIMIT
}

/** Refuses documents that are too deep, too wide or too costly; introspection (`__…`) is exempt from cost. */
export function documentLimits(context: ValidationContext): ASTVisitor {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const definition of context.getDocument().definitions) {
    if (definition.kind === 'FragmentDefinition') fragments.set(definition.name.value, definition)
  }
  let steps = 0
  let roots = 0
  let tooMuch = false

  /** Does this selection ask for the rows of a page, be it through a fragment? */
  function hasRows(set: SelectionSetNode, inside: ReadonlySet<string>): boolean {
    return set.selections.some((selection) => {
      if (selection.kind === 'Field') return selection.name.value === 'data' && selection.selectionSet !== undefined
      if (selection.kind === 'InlineFragment') return hasRows(selection.selectionSet, inside)
      const name = selection.name.value
      const fragment = inside.has(name) ? undefined : fragments.get(name)
      // Each step counts: fragments that name each other twice would otherwise be walked for hours.
      return (
        fragment !== undefined && ++steps <= MAX_FIELDS && hasRows(fragment.selectionSet, new Set([...inside, name]))
      )
    })
  }

  /** The cost of a selection; stops counting as soon as one limit is passed. */
  function walk(set: SelectionSetNode, depth: number, times: number, inside: ReadonlySet<string>): number {
    let cost = 0
    for (const selection of set.selections) {
      steps += 1
      if (depth > MAX_DEPTH || steps > MAX_FIELDS || cost > MAX_COST) tooMuch = true
      if (tooMuch) return cost
      if (selection.kind === 'Field') {
        if (selection.name.value.startsWith('__')) continue
        if (depth === 1) roots += 1
        if (!selection.selectionSet) continue
        const rows = times * (hasRows(selection.selectionSet, inside) ? pageSize(selection) : 1)
        const own = rows + times * (fieldCosts.get(selection.name.value) ?? 0)
        cost += own + walk(selection.selectionSet, depth + 1, rows, inside)
      } else if (selection.kind === 'InlineFragment') {
        cost += walk(selection.selectionSet, depth, times, inside)
      } else {
        const name = selection.name.value
        const fragment = fragments.get(name)
        // A fragment inside of itself is refused by another rule; here it must only not be walked forever.
        if (fragment && !inside.has(name)) cost += walk(fragment.selectionSet, depth, times, new Set([...inside, name]))
      }
    }
    return cost
  }

  return {
    OperationDefinition(node) {
      roots = 0
      const cost = walk(node.selectionSet, 1, 1, new Set())
      if (tooMuch || cost > MAX_COST || roots > MAX_ROOT_FIELDS) {
        context.reportError(
          new GraphQLError(
            `This document asks for too much: at most ${MAX_DEPTH} levels, ${MAX_FIELDS} fields, ${MAX_ROOT_FIELDS} root fields and ${MAX_COST} rows. Ask for smaller pages or in several requests.`,
            { nodes: node },
          ),
        )
      }
    },
  }
}
