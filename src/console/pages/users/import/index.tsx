/** Users of another product, out of its export (docs/import.md): rehearsed first, then imported. */
import { Alert, Button, FileInput, Group, Progress, Stack, Text } from '@mantine/core'
import { importUsers } from 'documents/user-import'
import { useEffect, useRef, useState } from 'react'
import type { Field } from '../../../form/fields'
import { FormFields } from '../../../form/form-fields'
import { useForm } from '../../../form/use-form'
import { Fault } from '../../../graphql/fault'
import { useRun } from '../../../graphql/hooks'
import { Card } from '../../../parts/card'
import { Icon } from '../../../parts/icon'
import { LinkButton } from '../../../parts/link'
import { Page } from '../../../parts/page'
import { issuerHref, usePlace } from '../../../place'
import { OutcomeCard } from './outcome'
import { type Choices, type Outcome, runImport } from './run'

const fields: Field<Choices>[] = [
  {
    kind: 'choice',
    path: 'source',
    label: 'Where it comes from',
    options: [
      { value: 'any', label: 'See from the first record' },
      { value: 'auth0', label: 'Auth0' },
      { value: 'keycloak', label: 'Keycloak' },
      { value: 'logto', label: 'Logto' },
      { value: 'gatehouse', label: 'Another Gatehouse' },
    ],
  },
  {
    kind: 'choice',
    path: 'login',
    label: 'They sign in with',
    hint: 'Who does not have it signs in with the next thing that they have.',
    options: [
      { value: 'email', label: 'Email address' },
      { value: 'unique', label: 'Username' },
      { value: 'phone', label: 'Phone number' },
    ],
  },
  {
    kind: 'toggle',
    path: 'dropUnsupported',
    label: 'Leave out credentials that cannot be taken',
    hint: 'Else their users are refused: an account without its second factor is less safe than before.',
  },
]

export default function ImportUsers() {
  const { accountId, issuerId } = usePlace()
  const run = useRun()
  const form = useForm(fields, { source: 'any', login: 'email' })
  const [file, setFile] = useState<File | null>(null)
  const [outcome, setOutcome] = useState<Outcome>()
  const [trouble, setTrouble] = useState<string>()
  /** Stops what is running. */
  const [running, setRunning] = useState<AbortController>()
  const stopped = useRef(false)
  const users = `${issuerHref(accountId, issuerId)}/users`
  useStay(running)

  // What was rehearsed was this file with these choices.
  const choices = JSON.stringify(form.values)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another choice makes the outcome void
  useEffect(() => setOutcome(undefined), [choices, file])

  const go = async (dryRun: boolean) => {
    if (!file) return
    const controller = new AbortController()
    stopped.current = false
    setTrouble(undefined)
    setOutcome(undefined)
    setRunning(controller)
    try {
      const done = await runImport({
        file,
        choices: form.values as unknown as Choices,
        dryRun,
        send: async (input) => {
          const typenames = input.last && !dryRun ? ['User'] : []
          return (await run(importUsers, { accountId, issuerId, input }, { typenames })).importUsers
        },
        progress: setOutcome,
        signal: controller.signal,
      })
      stopped.current = controller.signal.aborted
      setOutcome(done)
    } catch (fault) {
      const { message } = fault as Error
      setTrouble(fault instanceof Fault || fault instanceof Error ? message : 'The file cannot be read.')
      stopped.current = true
    } finally {
      setRunning(undefined)
    }
  }

  const isReady = outcome?.dryRun === true && !stopped.current && outcome.imported > 0
  return (
    <Page
      title="Import users"
      lead="From an export of Auth0, Keycloak, Logto or another Gatehouse, with their passwords. Nobody gets a mail."
      crumbs={[
        { label: 'Users', href: users },
        { label: 'Import users', href: `${users}/import` },
      ]}
    >
      <Card
        title="The export"
        text="It is read here, in the browser, and checked line by line. Rehearsing writes nothing."
      >
        <Stack gap="md" className="gh-fields">
          {trouble && (
            <Alert color="red" variant="light" icon={<Icon name="warning" />} role="alert">
              {trouble}
            </Alert>
          )}
          <FileInput
            label="File"
            description="Lines of JSON, an array, or an object with users; also compressed with gzip."
            placeholder="Choose a file"
            accept=".json,.ndjson,.jsonl,.gz"
            leftSection={<Icon name="upload" />}
            value={file}
            onChange={setFile}
            disabled={running !== undefined}
          />
          <FormFields form={form} disabled={running !== undefined} />
        </Stack>
        {running ? (
          <Running outcome={outcome} stop={() => running.abort()} />
        ) : (
          <Group gap="xs" justify="flex-end" className="gh-form-foot">
            <Button variant={isReady ? 'default' : 'filled'} disabled={!file} onClick={() => void go(true)}>
              Rehearse
            </Button>
            {isReady && (
              <Button onClick={() => void go(false)}>
                Import {outcome.imported.toLocaleString('en')} {outcome.imported === 1 ? 'user' : 'users'}
              </Button>
            )}
          </Group>
        )}
      </Card>
      {outcome && !running && <OutcomeCard outcome={outcome} stopped={stopped.current} />}
      {outcome && !running && !outcome.dryRun && (
        <Group>
          <LinkButton href={users} variant="default">
            To the users
          </LinkButton>
        </Group>
      )}
    </Page>
  )
}

function Running({ outcome, stop }: { outcome: Outcome | undefined; stop: () => void }) {
  const { read = 0, imported = 0, refusals = [], share = 0 } = outcome ?? {}
  return (
    <Stack gap="xs" mt="lg">
      <Progress value={share * 100} animated aria-label="How much of the file is done" />
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          {read.toLocaleString('en')} read, {imported.toLocaleString('en')} taken,{' '}
          {refusals.length.toLocaleString('en')} refused
        </Text>
        <Button size="xs" variant="default" onClick={stop}>
          Stop
        </Button>
      </Group>
    </Stack>
  )
}

/** While something is running: the browser asks before the page is closed, and leaving it stops what runs. */
function useStay(running: AbortController | undefined): void {
  useEffect(() => {
    if (!running) return
    const ask = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => {
      removeEventListener('beforeunload', ask)
      running.abort()
    }
  }, [running])
}
