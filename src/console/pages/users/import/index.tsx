/** Imports users from an export of another product (docs/import.md): first a dry run, then the import. */
import { Alert, Button, FileInput, Group, Progress, Stack, Text } from '@mantine/core'
import { importUsers } from 'documents/user-import'
import { useEffect, useRef, useState } from 'react'
import { Card } from '../../../components/card'
import { Icon } from '../../../components/icon'
import { LinkButton } from '../../../components/link'
import { Page } from '../../../components/page'
import { issuerHref, useConsoleContext } from '../../../console-context'
import type { Field } from '../../../form/fields'
import { FormFields } from '../../../form/form-fields'
import { useForm } from '../../../form/use-form'
import { useMutation } from '../../../graphql/hooks'
import { RequestError } from '../../../graphql/request-error'
import { ImportResultCard } from './import-result'
import { type ImportOptions, type ImportResult, runImport } from './run-import'

const fields: Field<ImportOptions>[] = [
  {
    kind: 'select',
    path: 'source',
    label: 'Source',
    options: [
      { value: 'any', label: 'Detect from the first record' },
      { value: 'auth0', label: 'Auth0' },
      { value: 'keycloak', label: 'Keycloak' },
      { value: 'logto', label: 'Logto' },
      { value: 'gatehouse', label: 'Another Gatehouse' },
    ],
  },
  {
    kind: 'select',
    path: 'login',
    label: 'Identifier type',
    hint: 'The identifier that becomes the username. Users without this identifier get another one that they have.',
    options: [
      { value: 'email', label: 'Email address' },
      { value: 'unique', label: 'Username' },
      { value: 'phone', label: 'Phone number' },
    ],
  },
  {
    kind: 'toggle',
    path: 'dropUnsupported',
    label: 'Skip unsupported credentials',
    hint: 'Imports a user without the password or second factor that Gatehouse does not support. If off, users with such a credential are not imported. Users who lose a second factor are less secure than before.',
  },
]

export default function ImportUsers() {
  const { accountId, issuerId } = useConsoleContext()
  const mutate = useMutation()
  const form = useForm(fields, { source: 'any', login: 'email' })
  const [file, setFile] = useState<File | null>(null)
  const [result, setResult] = useState<ImportResult>()
  const [errorMessage, setErrorMessage] = useState<string>()
  /** Stops the running import or dry run; undefined if none is running. */
  const [abortController, setAbortController] = useState<AbortController>()
  const stopped = useRef(false)
  const users = `${issuerHref(accountId, issuerId)}/users`
  useUnloadGuard(abortController)

  // The result of a dry run applies only to the file and the options of the dry run.
  const optionsKey = JSON.stringify(form.values)
  // biome-ignore lint/correctness/useExhaustiveDependencies: changed options invalidate the result
  useEffect(() => setResult(undefined), [optionsKey, file])

  const startImport = async (dryRun: boolean) => {
    if (!file) return
    const controller = new AbortController()
    stopped.current = false
    setErrorMessage(undefined)
    setResult(undefined)
    setAbortController(controller)
    try {
      const finished = await runImport({
        file,
        options: form.values as unknown as ImportOptions,
        dryRun,
        sendBatch: async (input) => {
          const typenames = input.last && !dryRun ? ['User'] : []
          return (await mutate(importUsers, { accountId, issuerId, input }, { typenames })).importUsers
        },
        onProgress: setResult,
        signal: controller.signal,
      })
      stopped.current = controller.signal.aborted
      setResult(finished)
    } catch (error) {
      const { message } = error as Error
      setErrorMessage(error instanceof RequestError || error instanceof Error ? message : 'The file cannot be read.')
      stopped.current = true
    } finally {
      setAbortController(undefined)
    }
  }

  const isReady = result?.dryRun === true && !stopped.current && result.imported > 0
  return (
    <Page
      title="Import users"
      lead="Imports users with their passwords from Auth0, Keycloak, Logto or another Gatehouse. No emails are sent."
      crumbs={[
        { label: 'Users', href: users },
        { label: 'Import users', href: `${users}/import` },
      ]}
    >
      <Card title="Export" text="The browser reads the file and the server checks each line. A dry run writes nothing.">
        <Stack gap="md" className="gh-fields">
          {errorMessage && (
            <Alert color="red" variant="light" icon={<Icon name="warning" />} role="alert">
              {errorMessage}
            </Alert>
          )}
          <FileInput
            label="File"
            description="NDJSON, a JSON array, or a JSON object with users. Can be compressed with gzip."
            placeholder="Choose a file"
            accept=".json,.ndjson,.jsonl,.gz"
            leftSection={<Icon name="upload" />}
            value={file}
            onChange={setFile}
            disabled={abortController !== undefined}
          />
          <FormFields form={form} disabled={abortController !== undefined} />
        </Stack>
        {abortController ? (
          <ImportProgress result={result} onStop={() => abortController.abort()} />
        ) : (
          <Group gap="xs" justify="flex-end" className="gh-form-foot">
            <Button variant={isReady ? 'default' : 'filled'} disabled={!file} onClick={() => void startImport(true)}>
              Start dry run
            </Button>
            {isReady && (
              <Button onClick={() => void startImport(false)}>
                Import {result.imported.toLocaleString('en')} {result.imported === 1 ? 'user' : 'users'}
              </Button>
            )}
          </Group>
        )}
      </Card>
      {result && !abortController && <ImportResultCard result={result} stopped={stopped.current} />}
      {result && !abortController && !result.dryRun && (
        <Group>
          <LinkButton href={users} variant="default">
            Open users
          </LinkButton>
        </Group>
      )}
    </Page>
  )
}

function ImportProgress({ result, onStop }: { result: ImportResult | undefined; onStop: () => void }) {
  const { read = 0, imported = 0, refusals = [], fractionRead = 0 } = result ?? {}
  return (
    <Stack gap="xs" mt="lg">
      <Progress value={fractionRead * 100} animated aria-label="Progress" />
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          {read.toLocaleString('en')} read, {imported.toLocaleString('en')} accepted,{' '}
          {refusals.length.toLocaleString('en')} refused
        </Text>
        <Button size="xs" variant="default" onClick={onStop}>
          Stop
        </Button>
      </Group>
    </Stack>
  )
}

/** While an import or a dry run runs, makes the browser ask before it closes the page. Leaving the page stops it. */
function useUnloadGuard(running: AbortController | undefined): void {
  useEffect(() => {
    if (!running) return
    const preventUnload = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', preventUnload)
    return () => {
      removeEventListener('beforeunload', preventUnload)
      running.abort()
    }
  }, [running])
}
