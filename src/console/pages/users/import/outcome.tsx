/** What became of an import, or would become of it: in numbers, and line by line what was refused. */
import { Alert, Button, Group, Table, Text } from '@mantine/core'
import { Card, Facts } from '../../../parts/card'
import { saveAs } from '../../../parts/download'
import { Icon } from '../../../parts/icon'
import type { Outcome } from './run'

/** Refused lines that are shown; the file has them all. */
const SHOWN = 50

const texts = {
  rehearsed: 'Nothing has been written yet.',
  imported: 'They sign in as before. Their password hashes become Argon2id when they do.',
}
const stoppedTexts = {
  rehearsed: 'Stopped on the way: the rest of the file has not been looked at.',
  imported: 'Stopped on the way. Import the same file again to go on: who is here already is left alone.',
}

const lines = (rows: object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('')
const counted = (count: number, one: string, many: string): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`

export function OutcomeCard({ outcome, stopped }: { outcome: Outcome; stopped: boolean }) {
  const { dryRun, read, imported, known, refusals, withoutPassword, totp, hashes, weak, ids } = outcome
  const phase = dryRun ? 'rehearsed' : 'imported'
  const kinds = Object.entries(hashes).map(([kind, count]) => `${kind} ${count.toLocaleString('en')}`)
  const title = `${dryRun ? 'Would import' : 'Imported'} ${imported.toLocaleString('en')} of ${counted(read, 'user', 'users')}`
  const saveRefusals = () => {
    // The same as the command's --errors.
    const rows = refusals.map(({ line, externalId, reason, message, fix }) => ({
      line,
      external_id: externalId,
      reason,
      message,
      fix,
    }))
    saveAs('refused.ndjson', lines(rows), 'application/x-ndjson')
  }
  const saveIds = () => {
    const rows = ids.map(({ externalId, userId }) => ({ external_id: externalId, user_id: userId }))
    saveAs('ids.ndjson', lines(rows), 'application/x-ndjson')
  }
  return (
    <Card
      title={title}
      text={stopped ? stoppedTexts[phase] : texts[phase]}
      actions={
        <Group gap="xs">
          {ids.length > 0 && (
            <Button variant="default" leftSection={<Icon name="download" />} onClick={saveIds}>
              Old and new ids
            </Button>
          )}
          {refusals.length > 0 && (
            <Button variant="default" leftSection={<Icon name="download" />} onClick={saveRefusals}>
              Refused lines
            </Button>
          )}
        </Group>
      }
    >
      <Facts
        rows={[
          ['Here already', known === 0 ? 'nobody' : `${counted(known, 'user', 'users')}, left alone`],
          ['Refused', refusals.length === 0 ? 'nobody' : counted(refusals.length, 'line', 'lines')],
          ['Password hashes', kinds.length === 0 ? 'none' : kinds.join(', ')],
          withoutPassword > 0 ? ['Without a password', withoutPassword.toLocaleString('en')] : undefined,
          totp > 0 ? ['With one-time codes', totp.toLocaleString('en')] : undefined,
        ]}
      />
      {weak > 0 && (
        <Alert color="orange" mt="md" icon={<Icon name="warning" />}>
          {counted(weak, 'hash is a plain digest', 'hashes are plain digests')}, which are quickly guessed: have these
          people sign in soon.
        </Alert>
      )}
      {refusals.length > 0 && (
        <>
          <Table.ScrollContainer minWidth={520} mt="md" scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
            <Table aria-label="Refused lines" verticalSpacing="xs">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Line</Table.Th>
                  <Table.Th>Id there</Table.Th>
                  <Table.Th>What is wrong</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {refusals.slice(0, SHOWN).map(({ line, externalId, reason, message, fix }) => (
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
          {refusals.length > SHOWN && (
            <Text size="sm" c="dimmed" mt="xs">
              The first {SHOWN}. The file has all {refusals.length.toLocaleString('en')}.
            </Text>
          )}
        </>
      )}
    </Card>
  )
}
