/** An option. `flags` is in commander's format: `--issuer <issuer id>`. */
export interface OptionRow {
  flags: string
  description: string
  choices?: readonly string[]
  required?: boolean
  /** The input fields that the option sets. Errors for these fields name the option instead. */
  fields?: readonly string[]
}
