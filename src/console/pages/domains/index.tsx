/** The custom domains of an account: add, verify with a DNS record, assign to an issuer. */
import { Button, Group, Select, Stack, Text } from '@mantine/core'
import { assignDomain, createDomain, deleteDomain, domains, unassignDomain, verifyDomain } from 'documents/domains'
import type { CreateDomainInput, DomainFieldsFragment } from 'documents/types'
import { useState } from 'react'
import { Route, Switch, useLocation, useSearchParams } from 'wouter'
import { Card, DescriptionList } from '../../components/card'
import { CodeBlock } from '../../components/code-block'
import { DangerZone } from '../../components/confirm-dialog'
import { Icon } from '../../components/icon'
import { Page } from '../../components/page'
import { searchableSelectProps, useIssuerOptions, withSelectedOption } from '../../components/searchable-options'
import { ErrorState, PageLoading } from '../../components/states'
import { RelativeTime, StatusBadge } from '../../components/values'
import { accountHref, useConsoleContext } from '../../console-context'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { showError, useMutation, useQuery } from '../../graphql/hooks'
import { RequestError } from '../../graphql/request-error'
import { ResourceFindings } from '../../health/findings'
import { List } from '../../list/list-page'
import { NameCell } from '../../list/list-table'

const fields: Field<CreateDomainInput>[] = [
  {
    kind: 'text',
    path: 'host',
    label: 'Domain',
    required: true,
    placeholder: 'login.example.com',
    hint: 'Users see this domain while they sign in.',
  },
]

const statusOf = ({ verified }: { verified: boolean }): string => (verified ? 'verified' : 'pending')

export default function Domains() {
  return (
    <Switch>
      <Route path="/accounts/:accountId/domains/:domainId">
        {({ domainId }) => <DomainPage key={domainId} domainId={domainId!} />}
      </Route>
      <Route>{() => <DomainList />}</Route>
    </Switch>
  )
}

function DomainList() {
  const { accountId, may } = useConsoleContext()
  const [, navigate] = useLocation()
  const [params, setParams] = useSearchParams()
  const mutate = useMutation()
  const open = () => setParams({ new: '1' }, { replace: true })
  const create = async (input: CreateDomainInput) => {
    const { createDomain: created } = await mutate(
      createDomain,
      { accountId, input },
      { successMessage: 'Domain added', typenames: ['Domain'] },
    )
    navigate(`${accountHref(accountId)}/domains/${created.id}`)
  }
  return (
    <Page
      title="Domains"
      lead="Serve your sign-in pages on your own domain."
      actions={
        may('createDomain') && (
          <Button leftSection={<Icon name="plus" />} onClick={open}>
            Add domain
          </Button>
        )
      }
    >
      <List
        label="Domains"
        query={domains}
        variables={{ accountId }}
        page={(data) => data.domains}
        typename="Domain"
        href={({ id }) => `${accountHref(accountId)}/domains/${id}`}
        columns={[
          {
            header: 'Domain',
            cell: ({ host, issuerId }) => (
              <NameCell mark={<Icon name="globe" />} name={host} text={issuerId ?? 'not assigned'} />
            ),
          },
          { header: 'Status', width: '130px', cell: (domain) => <StatusBadge value={statusOf(domain)} /> },
          {
            header: 'Added',
            width: '140px',
            hideOnMobile: true,
            cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
          },
        ]}
        empty={{
          icon: 'globe',
          title: 'No domains yet',
          text: 'Add a domain, verify it with a DNS record, and assign it to an issuer.',
          ...(may('createDomain') && { action: 'Add domain', onAction: open }),
        }}
      />
      {params.has('new') && may('createDomain') && (
        <CreateDialog
          title="Add domain"
          fields={fields}
          submitLabel="Add domain"
          create={create}
          onClose={() => setParams({}, { replace: true })}
        />
      )}
    </Page>
  )
}

/** The page of a domain. It loads the list of all domains, because an account has at most 20. */
function DomainPage({ domainId }: { domainId: string }) {
  const { accountId, may } = useConsoleContext()
  const [, navigate] = useLocation()
  const mutate = useMutation()
  const { data, error, loading, refetch } = useQuery(domains, { accountId, limit: 100 }, { typename: 'Domain' })
  if (loading) return <PageLoading />
  if (error || !data) return <ErrorState error={error!} onRetry={refetch} />
  const domain = data.domains.data.find(({ id }) => id === domainId)
  if (!domain) return <ErrorState error={new RequestError('NOT_FOUND', 'This account has no domain with this ID.')} />
  const listHref = `${accountHref(accountId)}/domains`
  const remove = async () => {
    await mutate(
      deleteDomain,
      { accountId, domain: domain.id },
      { successMessage: 'Domain removed', typenames: ['Domain'] },
    )
    navigate(listHref)
  }
  return (
    <Page
      title={domain.host}
      badge={<StatusBadge value={statusOf(domain)} />}
      crumbs={[
        { label: 'Domains', href: listHref },
        { label: domain.host, href: `${listHref}/${domainId}` },
      ]}
    >
      <ResourceFindings path={`domains/${domain.host}`} />
      <DomainVerification domain={domain} />
      {domain.verified && <IssuerAssignment domain={domain} />}
      {may('deleteDomain') && (
        <DangerZone
          actions={[
            {
              title: 'Remove this domain',
              text: 'The issuer stays available at its default URL.',
              label: 'Remove domain',
              warning:
                'Users will no longer be able to sign in at this domain. If you add the domain again, you have to verify it again.',
              name: domain.host,
              onConfirm: remove,
            },
          ]}
        />
      )}
    </Page>
  )
}

function DomainVerification({ domain }: { domain: DomainFieldsFragment }) {
  const { accountId, may } = useConsoleContext()
  const mutate = useMutation()
  const [busy, setBusy] = useState(false)
  const verify = async () => {
    setBusy(true)
    try {
      await mutate(verifyDomain, { accountId, domain: domain.id }, { successMessage: 'Domain verified' })
    } catch (error) {
      showError(error)
    }
    setBusy(false)
  }
  const { verification, verified, verifiedAt } = domain
  return (
    <Card
      title={verified ? 'Ownership verified' : 'Verify ownership'}
      text={
        verified
          ? 'You can remove the DNS record; the domain stays verified.'
          : 'Add this record to the DNS of the domain, then verify. DNS changes can take several minutes to become visible.'
      }
      actions={
        !verified &&
        may('verifyDomain') && (
          <Button leftSection={<Icon name="check" />} loading={busy} onClick={() => void verify()}>
            Verify
          </Button>
        )
      }
    >
      <Stack gap="lg">
        <DescriptionList
          rows={[
            ['Type', verification.type === 'dns_txt' ? 'TXT' : verification.type],
            verified ? ['Verified', <RelativeTime key="at" at={verifiedAt} />] : undefined,
          ]}
        />
        <CodeBlock title="Record name" code={verification.name} />
        <CodeBlock title="Record value" code={verification.value} />
      </Stack>
    </Card>
  )
}

function IssuerAssignment({ domain }: { domain: DomainFieldsFragment }) {
  const { accountId, may } = useConsoleContext()
  const mutate = useMutation()
  const [busy, setBusy] = useState(false)
  const issuers = useIssuerOptions()
  const changeIssuer = async (issuerId: string | null) => {
    setBusy(true)
    const ids = { accountId, domain: domain.id }
    try {
      if (issuerId) await mutate(assignDomain, { ...ids, input: { issuerId } }, { successMessage: 'Domain assigned' })
      else await mutate(unassignDomain, ids, { successMessage: 'Domain unassigned' })
    } catch (error) {
      showError(error)
    }
    setBusy(false)
  }
  const { issuerId } = domain
  return (
    <Card title="Issuer" text="The issuer that is served on this domain.">
      <Group align="flex-end">
        <Select
          label="Assigned to"
          placeholder="No issuer"
          {...searchableSelectProps(withSelectedOption(issuers, issuerId), issuerId ? [issuerId] : [])}
          value={issuerId ?? null}
          disabled={busy || !may('assignDomain')}
          clearable={may('unassignDomain')}
          clearButtonProps={{ 'aria-label': 'Unassign the domain' }}
          w={320}
          maw="100%"
          onChange={(value) => void changeIssuer(value)}
        />
      </Group>
      <Text size="sm" c="dimmed" mt="md">
        Add a DNS record for this domain: a CNAME to the host that serves your issuers, or an A/AAAA record with its
        address.
      </Text>
    </Card>
  )
}
