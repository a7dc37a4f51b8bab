/** Hooks that run queries and mutations. */
import { notifications } from '@mantine/notifications'
import type { TypedDocumentNode } from '@urql/core'
import { useCallback, useMemo } from 'react'
import { type AnyVariables, useClient, useQuery as useUrqlQuery } from 'urql'
import { requestStepUp } from '../step-up/request'
import { type RequestError, toRequestError } from './request-error'

export interface QueryResult<Data> {
  data: Data | undefined
  error: RequestError | undefined
  /** True while the first data is being fetched. */
  loading: boolean
  /** Runs the query again, bypassing the cache. */
  refetch(): void
}

/**
 * Runs a query, and runs it again after each mutation whose result or `typenames` contain a type of the query's
 * result.
 * @param typename a type (or a stable array of types) on which the result depends. Without it, an empty list would not
 *   be refetched when its first row is created, because an empty result contains no types.
 * @param cacheFirst true to use a cached result, if there is one, without a request; for names that many components
 *   show
 */
export function useQuery<Data, Variables extends AnyVariables>(
  query: TypedDocumentNode<Data, Variables>,
  variables: Variables,
  {
    pause = false,
    typename,
    cacheFirst = false,
  }: { pause?: boolean; typename?: string | string[]; cacheFirst?: boolean } = {},
): QueryResult<Data> {
  const context = useMemo(() => ({ additionalTypenames: typename ? [typename].flat() : [] }), [typename])
  const [{ data: result, error, fetching }, executeQuery] = useUrqlQuery<Data, Variables>({
    query,
    variables,
    pause,
    context,
    ...(cacheFirst && { requestPolicy: 'cache-first' }),
  } as Parameters<typeof useUrqlQuery<Data, Variables>>[0])
  const refetch = useCallback(() => executeQuery({ requestPolicy: 'network-only' }), [executeQuery])
  const data = isComplete(result) ? result : undefined
  return { data, error: error && toRequestError(error), loading: fetching && data === undefined, refetch }
}

/** Returns false for a result with a root field that was refused; the other fields of such a result are not shown. */
const isComplete = (result: unknown): boolean => !Object.values(result ?? {}).includes(null)

/**
 * Runs mutations. If the server requires a recent sign-in, asks the user to sign in again, then sends the mutation once
 * more.
 * @returns a function that returns the data or throws a RequestError; it shows `successMessage` as a notification
 */
export function useMutation() {
  const client = useClient()
  return useCallback(
    async <Data, Variables extends AnyVariables>(
      mutation: TypedDocumentNode<Data, Variables>,
      variables: Variables,
      { successMessage, typenames = [] }: { successMessage?: string; typenames?: string[] } = {},
    ): Promise<Data> => {
      const send = () => client.mutation(mutation, variables, { additionalTypenames: typenames }).toPromise()
      let { data, error } = await send()
      const maxAge = error && toRequestError(error).maxAge
      if (maxAge !== undefined && (await requestStepUp(maxAge))) ({ data, error } = await send())
      if (error || !data) throw toRequestError(error!)
      if (successMessage) showSuccess(successMessage)
      return data
    },
    [client],
  )
}

/** @returns a function that runs a query once, bypassing the cache, and returns the data or throws a RequestError */
export function useRefetch() {
  const client = useClient()
  return useCallback(
    async <Data, Variables extends AnyVariables>(query: TypedDocumentNode<Data, Variables>, variables: Variables) => {
      const { data, error } = await client.query(query, variables, { requestPolicy: 'network-only' }).toPromise()
      if (error || !data) throw toRequestError(error!)
      return data
    },
    [client],
  )
}

/**
 * Shows a notification for 3 seconds. The class `gh-toast` lets clicks through to the elements below the notification.
 */
export function showSuccess(message: string): void {
  notifications.show({ message, color: 'teal', autoClose: 3000, withCloseButton: false, className: 'gh-toast' })
}

/** Shows a notification for the error of an action that has no form. */
export function showError(error: unknown): void {
  const { message, requestId } = error as RequestError
  const title = requestId ? `Something went wrong (${requestId})` : 'Something went wrong'
  notifications.show({ title, message, color: 'red', autoClose: 8000 })
}
