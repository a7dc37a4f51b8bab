import { type ASTVisitor, GraphQLError, type ValidationContext, type ValueNode, valueFromASTUntyped } from 'graphql'
import { unsafeInputError } from '../kernel/safe-json.js'

/**
 * Validation rule that applies `unsafeInputError` to literals in the document. The values of variables are checked when
 * the body is parsed.
 */
export function literalInputRule(context: ValidationContext): ASTVisitor {
  const checkValue = (name: string, value: ValueNode | undefined): void => {
    const inputError = value && unsafeInputError(valueFromASTUntyped(value), name)
    if (inputError) context.reportError(new GraphQLError(inputError, { nodes: value }))
  }
  return {
    Argument: (node) => checkValue(node.name.value, node.value),
    VariableDefinition: (node) => checkValue(node.variable.name.value, node.defaultValue),
  }
}
