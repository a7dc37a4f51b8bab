/**
 * Shows secrets once, with copy and download. The dialog closes only by its button, so that users do not close it by
 * accident.
 */
import { Alert, Button, CopyButton, Group, Modal, Stack, Text } from '@mantine/core'
import { saveAs } from './download'
import { Icon } from './icon'
import classes from './secret.module.css'

export interface Secret {
  label: string
  value: string
}

interface Props {
  title: string
  secrets: readonly Secret[]
  /** File name of the download. */
  fileName: string
  /** What the secret is for, or what happens to the previous secret. */
  text?: string
  onClose: () => void
}

export function SecretDialog({ title, secrets, fileName, text, onClose }: Props) {
  const download = () => {
    saveAs(fileName, secrets.map(({ label, value }) => `${label}: ${value}\n`).join(''))
  }
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      size="lg"
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <Stack gap="md">
        <Alert color="yellow" variant="light" icon={<Icon name="lock" />}>
          Gatehouse cannot show this secret again. Store it where only people and programs that need it can read it.
        </Alert>
        {text && (
          <Text size="sm" c="dimmed">
            {text}
          </Text>
        )}
        {secrets.map(({ label, value }) => (
          <div key={label}>
            <Text size="xs" c="dimmed" mb={4}>
              {label}
            </Text>
            <div className={classes.secret}>
              <code data-secret>{value}</code>
              <CopyButton value={value}>
                {({ copied, copy }) => (
                  <Button
                    size="xs"
                    variant="light"
                    color={copied ? 'teal' : undefined}
                    onClick={copy}
                    aria-label={`Copy ${label}`}
                    leftSection={<Icon name={copied ? 'check' : 'copy'} size={14} />}
                  >
                    {copied ? 'Copied' : 'Copy'}
                  </Button>
                )}
              </CopyButton>
            </div>
          </div>
        ))}
        <Group justify="space-between" mt="xs">
          <Button variant="default" leftSection={<Icon name="download" />} onClick={download}>
            Download
          </Button>
          <Button onClick={onClose}>I've saved it</Button>
        </Group>
      </Stack>
    </Modal>
  )
}
