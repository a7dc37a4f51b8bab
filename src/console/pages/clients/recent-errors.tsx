/** The recent errors of a client: requests that were denied, each with its fix. */
import { Button, Code, Skeleton, Text } from '@mantine/core'
import { clientErrors } from 'documents/clients'
import type { ClientErrorsQuery, UpdateClientInput } from 'documents/types'
import { Fragment } from 'react'
import { useLocation } from 'wouter'
import { Card } from '../../components/card'
import { Icon } from '../../components/icon'
import { LinkButton } from '../../components/link'
import { CopyAction, RelativeTime } from '../../components/values'
import { useConsoleContext } from '../../console-context'
import { type Field, getByPath } from '../../form/fields'
import { useQuery } from '../../graphql/hooks'
import { isAddable } from './addable-values'
import classes from './recent-errors.module.css'

type RecentError = NonNullable<NonNullable<ClientErrorsQuery['client']>['recentDenials']>[number]

/** A value that the settings of the client open with, as an unsaved change. */
interface Prefill {
  setting: string
  value: string
}

/** Settings whose refused value can be added, with the text of the button. */
const addLabels: Readonly<Record<string, string>> = {
  'settings.openid.redirect_uris': 'Add this redirect URI',
  'settings.openid.post_logout_redirect_uris': 'Add this redirect URI',
  'settings.scopes': 'Add this scope',
  'settings.openid.allowed_resources': 'Add this resource',
}

/** Settings that the console has a field for. */
const editableSettings = new Set([
  ...Object.keys(addLabels),
  'settings.openid.token_endpoint_auth_method',
  'settings.openid.jwks',
  'settings.openid.dpop_bound_access_tokens',
  'settings.openid.require_pushed_authorization_requests',
])

/**
 * Returns the unsaved change with which a form opens after a click on a recent error. The value comes from the state of
 * the browser history, which other sites cannot set with a link.
 */
export function prefillFromHistory(
  fields: readonly Field<UpdateClientInput>[],
  client: object,
): { path: Field<UpdateClientInput>['path']; value: unknown } | undefined {
  const { setting, value } = ((window.history.state as { prefill?: Prefill } | null)?.prefill ?? {}) as Partial<Prefill>
  const field = fields.find(({ path }) => path === setting)
  if (!field || value === undefined) return undefined
  const entries = (getByPath(client, field.path) as string[] | undefined) ?? []
  const added = field.path === 'settings.scopes' ? value.split(' ') : [value]
  return { path: field.path, value: [...entries, ...added.filter((one) => !entries.includes(one))] }
}

interface Props {
  client: { id: string; settings: object }
  href: string
}

export function RecentErrors({ client, href }: Props) {
  const { accountId, issuerId } = useConsoleContext()
  const { data, error, refetch } = useQuery(clientErrors, { accountId, issuerId, clientId: client.id })
  const errors = data?.client?.recentDenials ?? undefined
  return (
    <Card
      flush
      title="Recent errors"
      text="Requests of this client that were refused in the last 7 days. Each error is recorded at most once per minute."
      actions={
        <Button variant="default" size="xs" leftSection={<Icon name="refresh" size={14} />} onClick={refetch}>
          Refresh
        </Button>
      }
    >
      <ul className={classes.list} aria-label="Recent errors" aria-busy={!errors && !error}>
        {error && (
          <li>
            <Text size="sm">The errors could not be loaded. {error.message}</Text>
          </li>
        )}
        {!errors && !error && (
          <li>
            <Skeleton h={14} w="42%" />
          </li>
        )}
        {errors?.length === 0 && (
          <li className={classes.empty}>
            <Icon name="check" size={18} />
            <Text size="sm">No errors. If a sign-in fails, the reason and the fix appear here.</Text>
          </li>
        )}
        {errors?.map((one) => (
          <li key={`${one.endpoint} ${one.message} ${one.lastAt}`} data-reason={one.reason}>
            <ErrorRow error={one} settings={client.settings} href={href} />
          </li>
        ))}
      </ul>
    </Card>
  )
}

/** Shows the parts of a text in backquotes as code. */
const WithCode = ({ text }: { text: string }) =>
  text
    .split('`')
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts never change
    .map((part, at) => (at % 2 === 1 ? <Code key={at}>{part}</Code> : <Fragment key={at}>{part}</Fragment>))

function ErrorRow({ error, settings, href }: { error: RecentError; settings: object; href: string }) {
  const { may } = useConsoleContext()
  const [, navigate] = useLocation()
  const { setting, value } = error
  const mayAdd = setting && value && may('updateClient') && isAddable(setting, value, settings)
  const addLabel = mayAdd ? addLabels[setting] : undefined
  const open = () => navigate(`${href}/settings`, { state: { prefill: { setting, value } } })
  return (
    <>
      <div className={classes.text}>
        <Text size="sm" fw={540}>
          <WithCode text={error.message} />
        </Text>
        <Text size="sm" c="dimmed" mt={2}>
          {error.fix}
          {addLabel && ' Anyone can send such a request: add only what belongs to your application.'}
        </Text>
        <p className={classes.facts}>
          <RelativeTime at={error.lastAt} />
          {error.count > 1 && <span>{error.count} times</span>}
          <span>
            {error.endpoint} · {error.error}
          </span>
          {error.requestId && (
            <span className={classes.request}>
              {error.requestId}
              <CopyAction value={error.requestId} label="Copy request ID" />
            </span>
          )}
        </p>
      </div>
      {addLabel ? (
        <Button variant="default" size="xs" onClick={open}>
          {addLabel}
        </Button>
      ) : (
        setting &&
        editableSettings.has(setting) && (
          <LinkButton href={`${href}/settings`} variant="default" size="xs">
            Open settings
          </LinkButton>
        )
      )}
    </>
  )
}
