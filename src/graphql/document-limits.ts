/**
 * Limits of a GraphQL document before execution: depth, fields and estimated rows (docs/contract.md#graphql-limits).
 */
import {
  type ASTVisitor,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValidationContext,
  valueFromASTUntyped,
} from 'graphql'
import { limits } from '../kernel/limits.js'

/**
 * Additional cost of expensive fields: `health` counts users, which takes most of a second for an issuer with 100,000
 * users; `recentDenials` reads up to 400 events.
 */
const fieldCosts: ReadonlyMap<string, number> = new Map([
  ['health', 500],
  ['recentDenials', 20],
])

/**
 * Returns the page size of a list. A relation, which is a list below the root, has a smaller default. A variable whose
 * value is not known counts as 1.
 */
function pageSize(field: FieldNode, depth: number, variables: Record<string, unknown> | undefined): number {
  const limit = field.arguments?.find((argument) => argument.name.value === 'limit')?.value
  if (limit?.kind === 'Variable' && !variables) return 1
  const value = limit && valueFromASTUntyped(limit, variables)
  const fallback = depth === 1 ? limits.defaultPageLimit : limits.defaultRelationLimit
  // A size outside of the range is refused when the list is read. Here it must not reduce the cost of other lists.
  return Math.min(Math.max(typeof value === 'number' ? value : fallback, 1), limits.maxPageLimit)
}

/** Returns the values of the variables of an operation, with the defaults of variables that the request omits. */
export function withDefaults(
  operation: OperationDefinitionNode,
  requestVariables: Record<string, unknown>,
): Record<string, unknown> {
  const defaults = (operation.variableDefinitions ?? []).flatMap(({ variable, defaultValue }) =>
    defaultValue ? [[variable.name.value, valueFromASTUntyped(defaultValue)]] : [],
  )
  return { ...Object.fromEntries(defaults), ...requestVariables }
}

/**
 * Returns the validation rule that rejects documents that exceed the limits. Fields of the introspection have no cost.
 * @param requestVariables the variables of the request. Apollo validates documents without them; `mountGraphql` validates
 *   the limits again with them
 */
export const documentLimitsRule =
  (requestVariables?: Record<string, unknown>) =>
  (context: ValidationContext): ASTVisitor => {
    const fragments = new Map<string, FragmentDefinitionNode>()
    for (const definition of context.getDocument().definitions) {
      if (definition.kind === 'FragmentDefinition') fragments.set(definition.name.value, definition)
    }
    let variables = requestVariables
    let visitedNodes = 0
    let rootFieldCount = 0
    let isExceeded = false

    /** Returns true when the selection contains the `data` of a page, directly or in a fragment. */
    function selectsRows(set: SelectionSetNode, enclosingFragments: ReadonlySet<string>): boolean {
      return set.selections.some((selection) => {
        if (selection.kind === 'Field') return selection.name.value === 'data' && selection.selectionSet !== undefined
        if (selection.kind === 'InlineFragment') return selectsRows(selection.selectionSet, enclosingFragments)
        const name = selection.name.value
        const fragment = enclosingFragments.has(name) ? undefined : fragments.get(name)
        // Counts each visited fragment, because nested fragments can expand exponentially.
        return (
          fragment !== undefined &&
          ++visitedNodes <= limits.maxGraphqlFields &&
          selectsRows(fragment.selectionSet, new Set([...enclosingFragments, name]))
        )
      })
    }

    /** Returns the cost of a selection. Stops as soon as a limit is exceeded. */
    function costOf(
      set: SelectionSetNode,
      depth: number,
      multiplier: number,
      enclosingFragments: ReadonlySet<string>,
    ): number {
      let cost = 0
      for (const selection of set.selections) {
        visitedNodes += 1
        if (depth > limits.maxGraphqlDepth || visitedNodes > limits.maxGraphqlFields || cost > limits.maxGraphqlCost)
          isExceeded = true
        if (isExceeded) return cost
        if (selection.kind === 'Field') {
          if (selection.name.value.startsWith('__')) continue
          if (depth === 1) rootFieldCount += 1
          if (!selection.selectionSet) continue
          const rows =
            multiplier *
            (selectsRows(selection.selectionSet, enclosingFragments) ? pageSize(selection, depth, variables) : 1)
          // The entries in `data` were counted for the page.
          const ownRows = selection.name.value === 'data' ? 0 : rows
          const fieldCost = ownRows + multiplier * (fieldCosts.get(selection.name.value) ?? 0)
          cost += fieldCost + costOf(selection.selectionSet, depth + 1, rows, enclosingFragments)
        } else if (selection.kind === 'InlineFragment') {
          cost += costOf(selection.selectionSet, depth, multiplier, enclosingFragments)
        } else {
          const name = selection.name.value
          const fragment = fragments.get(name)
          // graphql-js rejects recursive fragments by another rule; this check only prevents an endless loop.
          if (fragment && !enclosingFragments.has(name))
            cost += costOf(fragment.selectionSet, depth, multiplier, new Set([...enclosingFragments, name]))
        }
      }
      return cost
    }

    return {
      OperationDefinition(node) {
        rootFieldCount = 0
        variables = requestVariables && withDefaults(node, requestVariables)
        const cost = costOf(node.selectionSet, 1, 1, new Set())
        if (isExceeded || cost > limits.maxGraphqlCost || rootFieldCount > limits.maxGraphqlRootFields) {
          context.reportError(
            new GraphQLError(
              `This document exceeds the limits: at most ${limits.maxGraphqlDepth} levels, ${limits.maxGraphqlFields} fields, ${limits.maxGraphqlRootFields} root fields and ${limits.maxGraphqlCost} rows. Use smaller pages or several requests.`,
              { nodes: node },
            ),
          )
        }
      },
    }
  }
