import type { DocumentNode, FieldNode, OperationDefinitionNode, SelectionSetNode } from 'graphql'

/**
 * Returns the root fields of an operation, including those in fragments. Each fragment is visited once, so this is safe
 * for documents with recursive fragments that have not been validated.
 */
export function rootFieldsOf(document: DocumentNode, operation: OperationDefinitionNode): FieldNode[] {
  const found: FieldNode[] = []
  const entered = new Set<string>()
  const collect = ({ selections }: SelectionSetNode): void => {
    for (const selection of selections) {
      if (selection.kind === 'Field') found.push(selection)
      else if (selection.kind === 'InlineFragment') collect(selection.selectionSet)
      else {
        const { value } = selection.name
        if (entered.has(value)) continue
        entered.add(value)
        const fragment = document.definitions.find(
          (node) => node.kind === 'FragmentDefinition' && node.name.value === value,
        )
        if (fragment?.kind === 'FragmentDefinition') collect(fragment.selectionSet)
      }
    }
  }
  collect(operation.selectionSet)
  return found
}
