/** The result of an import or a dry run: counts, and each refused line. */
import { Alert, Button, Group, Table, Text } from '@mantine/core'
import { Card, DescriptionList } from '../../../components/card'
import { saveAs } from '../../../components/download'
import { Icon } from '../../../components/icon'
import type { ImportResult } from './run-import'

/** Maximum number of refused lines in the table; the download contains all of them. */
const MAX_SHOWN_REFUSALS = 50

const summaries = {
  dryRun: 'This was a dry run. Nothing has been written.',
  imported: 'Users sign in as before. At the next sign-in, their password hash is replaced by an Argon2id hash.',
}
const stoppedSummaries = {
  dryRun: 'Stopped before the end of the file. The remaining lines have not been checked.',
  imported: 'Stopped before the end of the file. To continue, import the same file again: existing users are skipped.',
}

const toNdjson = (rows: object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('')
const pluralize = (count: number, one: string, many: string): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`

export function ImportResultCard({ result, stopped }: { result: ImportResult; stopped: boolean }) {
  const { dryRun, read, imported, known, refusals, withoutPassword, totp, hashes, weak, ids } = result
  const phase = dryRun ? 'dryRun' : 'imported'
  const hashCounts = Object.entries(hashes).map(([kind, count]) => `${kind} ${count.toLocaleString('en')}`)
  const title = `${dryRun ? 'Would import' : 'Imported'} ${imported.toLocaleString('en')} of ${pluralize(read, 'user', 'users')}`
  const saveRefusals = () => {
    // The file has the format of `gatehouse users import --errors`.
    const rows = refusals.map(({ line, externalId, reason, message, fix }) => ({
      line,
      external_id: externalId,
      reason,
      message,
      fix,
    }))
    saveAs('refused.ndjson', toNdjson(rows), 'application/x-ndjson')
  }
  const saveIds = () => {
    const rows = ids.map(({ externalId, userId }) => ({ external_id: externalId, user_id: userId }))
    saveAs('ids.ndjson', toNdjson(rows), 'application/x-ndjson')
  }
  return (
    <Card
      title={title}
      text={stopped ? stoppedSummaries[phase] : summaries[phase]}
      actions={
        <Group gap="xs">
          {ids.length > 0 && (
            <Button variant="default" leftSection={<Icon name="download" />} onClick={saveIds}>
              Download ID mapping
            </Button>
          )}
          {refusals.length > 0 && (
            <Button variant="default" leftSection={<Icon name="download" />} onClick={saveRefusals}>
              Download refused lines
            </Button>
          )}
        </Group>
      }
    >
      <DescriptionList
        rows={[
          ['Existing users', known === 0 ? 'none' : `${pluralize(known, 'user', 'users')}, skipped`],
          ['Refused', refusals.length === 0 ? 'none' : pluralize(refusals.length, 'line', 'lines')],
          ['Password hashes', hashCounts.length === 0 ? 'none' : hashCounts.join(', ')],
          withoutPassword > 0 ? ['Without a password', withoutPassword.toLocaleString('en')] : undefined,
          totp > 0 ? ['With TOTP', totp.toLocaleString('en')] : undefined,
        ]}
      />
      {weak > 0 && (
        <Alert color="orange" mt="md" icon={<Icon name="warning" />}>
          {pluralize(weak, 'hash is a digest', 'hashes are digests')} without a work factor, so an attacker can try
          passwords quickly. Ask these users to sign in soon, so that their hashes are replaced.
        </Alert>
      )}
      {refusals.length > 0 && (
        <>
          <Table.ScrollContainer minWidth={520} mt="md" scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
            <Table aria-label="Refused lines" verticalSpacing="xs">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Line</Table.Th>
                  <Table.Th>External ID</Table.Th>
                  <Table.Th>Problem</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {refusals.slice(0, MAX_SHOWN_REFUSALS).map(({ line, externalId, reason, message, fix }) => (
                  <Table.Tr key={`${line} ${reason}`}>
                    <Table.Td>{line}</Table.Td>
                    <Table.Td>{externalId ?? '–'}</Table.Td>
                    <Table.Td>
                      {message}
                      <Text size="xs" c="dimmed">
                        {fix}
                      </Text>
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
          {refusals.length > MAX_SHOWN_REFUSALS && (
            <Text size="sm" c="dimmed" mt="xs">
              The first {MAX_SHOWN_REFUSALS} of {refusals.length.toLocaleString('en')} refused lines. The download
              contains all of them.
            </Text>
          )}
        </>
      )}
    </Card>
  )
}
