/** A code snippet for an application, and the values of the client that are filled in. */
export interface Snippet {
  label: string
  text: string
  steps: readonly { title: string; code: string }[]
}

export interface SnippetParams {
  issuer: string
  clientId: string
  redirectUri: string
  /** Signing algorithm of the client's ID tokens. */
  algorithm: string
}
