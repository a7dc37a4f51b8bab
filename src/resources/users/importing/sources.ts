/** Products whose exports can be read. A file of its own: the command line asks for it before anything else is loaded. */
export const sources = ['auth0', 'keycloak', 'logto', 'gatehouse'] as const
export type Source = (typeof sources)[number]
