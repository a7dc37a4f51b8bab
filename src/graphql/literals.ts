import { type ASTVisitor, GraphQLError, type ValidationContext, type ValueNode, valueFromASTUntyped } from 'graphql'
import { gateFault } from '../kernel/gate.js'

/** The input gate for values written into the document itself; variables pass it with the body. */
export function literalGate(context: ValidationContext): ASTVisitor {
  const look = (name: string, value: ValueNode | undefined): void => {
    const fault = value && gateFault(valueFromASTUntyped(value), name)
    if (fault) context.reportError(new GraphQLError(fault, { nodes: value }))
  }
  return {
    Argument: (node) => look(node.name.value, node.value),
    VariableDefinition: (node) => look(node.variable.name.value, node.defaultValue),
  }
}
