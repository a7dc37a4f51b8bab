/**
 * Products whose exports can be imported. They are in their own file, so that the command line can list them without
 * loading the modules of the import.
 */
export const sources = ['auth0', 'keycloak', 'logto', 'gatehouse'] as const
export type Source = (typeof sources)[number]
