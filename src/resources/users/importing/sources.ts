/** Products whose exports can be imported. In its own file because the command line needs it before other modules. */
export const sources = ['auth0', 'keycloak', 'logto', 'gatehouse'] as const
export type Source = (typeof sources)[number]
