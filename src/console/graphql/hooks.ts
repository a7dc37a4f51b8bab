/** Asking and telling, as pages do it. */
import { notifications } from '@mantine/notifications'
import type { TypedDocumentNode } from '@urql/core'
import { useCallback, useMemo } from 'react'
import { type AnyVariables, useClient, useQuery } from 'urql'
import { signInOnceMore } from '../step-up/wish'
import { type Fault, faultOf } from './fault'

export interface Answer<Data> {
  data: Data | undefined
  fault: Fault | undefined
  /** Nothing is there to be shown yet. */
  loading: boolean
  /** Asks again, past the cache. */
  again(): void
}

/**
 * Asks a query and keeps the answer fresh after changes.
 * @param typename of what the answer holds or depends on, so that a list that is empty now hears of the first one made;
 *   several as an array that stays the same
 * @param known is what is known from another part of the page good enough? For names, which many parts show
 */
export function useAsk<Data, Variables extends AnyVariables>(
  query: TypedDocumentNode<Data, Variables>,
  variables: Variables,
  { pause = false, typename, known = false }: { pause?: boolean; typename?: string | string[]; known?: boolean } = {},
): Answer<Data> {
  const context = useMemo(() => ({ additionalTypenames: typename ? [typename].flat() : [] }), [typename])
  const [{ data, error, fetching }, ask] = useQuery<Data, Variables>({
    query,
    variables,
    pause,
    context,
    ...(known && { requestPolicy: 'cache-first' }),
  } as Parameters<typeof useQuery<Data, Variables>>[0])
  const again = useCallback(() => ask({ requestPolicy: 'network-only' }), [ask])
  return { data, fault: error && faultOf(error), loading: fetching && data === undefined, again }
}

/**
 * Runs a mutation; where it asks for a sign-in that is not long ago, after that.
 * @returns a function that answers the data and throws a Fault; with `done` it says so in a corner of the page
 */
export function useRun() {
  const client = useClient()
  return useCallback(
    async <Data, Variables extends AnyVariables>(
      mutation: TypedDocumentNode<Data, Variables>,
      variables: Variables,
      { done, typenames = [] }: { done?: string; typenames?: string[] } = {},
    ): Promise<Data> => {
      const send = () => client.mutation(mutation, variables, { additionalTypenames: typenames }).toPromise()
      let { data, error } = await send()
      const maxAge = error && faultOf(error).maxAge
      if (maxAge !== undefined && (await signInOnceMore(maxAge))) ({ data, error } = await send())
      if (error || !data) throw faultOf(error!)
      if (done) tellDone(done)
      return data
    },
    [client],
  )
}

/** Asks once, past the cache: for what must be as it is now. */
export function useFresh() {
  const client = useClient()
  return useCallback(
    async <Data, Variables extends AnyVariables>(query: TypedDocumentNode<Data, Variables>, variables: Variables) => {
      const { data, error } = await client.query(query, variables, { requestPolicy: 'network-only' }).toPromise()
      if (error || !data) throw faultOf(error!)
      return data
    },
    [client],
  )
}

/** Says in a corner of the page what has been done, for a moment; what lies under it can be pressed meanwhile. */
export function tellDone(message: string): void {
  notifications.show({ message, color: 'teal', autoClose: 3000, withCloseButton: false, className: 'gh-passing' })
}

/** Says in a corner of the page what went wrong with something that has no form. */
export function tellFault(fault: unknown): void {
  const { message, requestId } = fault as Fault
  const title = requestId ? `Not done (${requestId})` : 'Not done'
  notifications.show({ title, message, color: 'red', autoClose: 8000 })
}
