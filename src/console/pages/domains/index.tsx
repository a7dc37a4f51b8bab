/** The custom domains of an account: added, proved by a DNS record, given to an issuer. */
import { Button, Group, Select, Stack, Text } from '@mantine/core'
import { assignDomain, createDomain, deleteDomain, domains, unassignDomain, verifyDomain } from 'documents/domains'
import type { CreateDomainInput, DomainFieldsFragment } from 'documents/types'
import { useState } from 'react'
import { Route, Switch, useLocation, useSearchParams } from 'wouter'
import { CreateDialog } from '../../form/create-dialog'
import type { Field } from '../../form/fields'
import { Fault } from '../../graphql/fault'
import { tellFault, useAsk, useRun } from '../../graphql/hooks'
import { FindingsAt } from '../../health/findings'
import { List } from '../../list/list-page'
import { Named } from '../../list/list-table'
import { Card, Facts } from '../../parts/card'
import { soughtBy, useIssuerChoices, withOne } from '../../parts/choices'
import { CodeBlock } from '../../parts/code-block'
import { DangerZone } from '../../parts/confirm'
import { Icon } from '../../parts/icon'
import { Page } from '../../parts/page'
import { FaultState, PageLoading } from '../../parts/states'
import { Moment, Status } from '../../parts/values'
import { accountHref, usePlace } from '../../place'

const fields: Field<CreateDomainInput>[] = [
  {
    kind: 'text',
    path: 'host',
    label: 'Domain',
    required: true,
    placeholder: 'login.example.com',
    hint: 'People will see it while they sign in.',
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
  const { accountId, may } = usePlace()
  const [, navigate] = useLocation()
  const [params, setParams] = useSearchParams()
  const run = useRun()
  const open = () => setParams({ new: '1' }, { replace: true })
  const create = async (input: CreateDomainInput) => {
    const { createDomain: made } = await run(
      createDomain,
      { accountId, input },
      { done: 'Domain added', typenames: ['Domain'] },
    )
    navigate(`${accountHref(accountId)}/domains/${made.id}`)
  }
  return (
    <Page
      title="Domains"
      lead="Let people sign in at an address of your own."
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
            head: 'Domain',
            cell: ({ host, issuerId }) => (
              <Named mark={<Icon name="globe" />} name={host} text={issuerId ?? 'given to no issuer'} />
            ),
          },
          { head: 'Status', width: '130px', cell: (domain) => <Status value={statusOf(domain)} /> },
          { head: 'Added', width: '140px', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
        ]}
        empty={{
          icon: 'globe',
          title: 'No domain yet',
          text: 'Add a domain of yours, prove it with one DNS record, and give it to an issuer.',
          ...(may('createDomain') && { action: 'Add domain', onAction: open }),
        }}
      />
      {params.has('new') && may('createDomain') && (
        <CreateDialog
          title="Add a domain"
          fields={fields}
          submit="Add domain"
          create={create}
          onClose={() => setParams({}, { replace: true })}
        />
      )}
    </Page>
  )
}

/** An account has at most twenty, so that one of them is found in the list of all. */
function DomainPage({ domainId }: { domainId: string }) {
  const { accountId, may } = usePlace()
  const [, navigate] = useLocation()
  const run = useRun()
  const { data, fault, loading, again } = useAsk(domains, { accountId, limit: 100 }, { typename: 'Domain' })
  if (loading) return <PageLoading />
  if (fault || !data) return <FaultState fault={fault!} again={again} />
  const domain = data.domains.data.find(({ id }) => id === domainId)
  if (!domain) return <FaultState fault={new Fault('NOT_FOUND', 'There is no such domain in this account.')} />
  const list = `${accountHref(accountId)}/domains`
  const remove = async () => {
    await run(deleteDomain, { accountId, domain: domain.id }, { done: 'Domain removed', typenames: ['Domain'] })
    navigate(list)
  }
  return (
    <Page
      title={domain.host}
      badge={<Status value={statusOf(domain)} />}
      crumbs={[
        { label: 'Domains', href: list },
        { label: domain.host, href: `${list}/${domainId}` },
      ]}
    >
      <FindingsAt path={`domains/${domain.host}`} />
      <Proof domain={domain} />
      {domain.verified && <Assignment domain={domain} />}
      {may('deleteDomain') && (
        <DangerZone
          dangers={[
            {
              title: 'Remove this domain',
              text: 'Its issuer is reached at its own address only.',
              label: 'Remove domain',
              warning: 'Nobody can sign in at this address any more. To add it again, you have to prove it again.',
              name: domain.host,
              run: remove,
            },
          ]}
        />
      )}
    </Page>
  )
}

function Proof({ domain }: { domain: DomainFieldsFragment }) {
  const { accountId, may } = usePlace()
  const run = useRun()
  const [busy, setBusy] = useState(false)
  const verify = async () => {
    setBusy(true)
    try {
      await run(verifyDomain, { accountId, domain: domain.id }, { done: 'Domain verified' })
    } catch (fault) {
      tellFault(fault)
    }
    setBusy(false)
  }
  const { verification, verified, verifiedAt } = domain
  return (
    <Card
      title={verified ? 'Proved to be yours' : 'Prove that it is yours'}
      text={
        verified
          ? 'The record may go; the domain stays verified.'
          : 'Set this record where the DNS of the domain is kept, then verify. It can take minutes until it is seen.'
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
        <Facts
          rows={[
            ['Type', verification.type === 'dns_txt' ? 'TXT' : verification.type],
            verified ? ['Verified', <Moment key="at" at={verifiedAt} />] : undefined,
          ]}
        />
        <CodeBlock title="Name of the record" code={verification.name} />
        <CodeBlock title="Value of the record" code={verification.value} />
      </Stack>
    </Card>
  )
}

function Assignment({ domain }: { domain: DomainFieldsFragment }) {
  const { accountId, may } = usePlace()
  const run = useRun()
  const [busy, setBusy] = useState(false)
  const issuers = useIssuerChoices()
  const give = async (issuerId: string | null) => {
    setBusy(true)
    const ids = { accountId, domain: domain.id }
    try {
      if (issuerId) await run(assignDomain, { ...ids, input: { issuerId } }, { done: 'Domain given to the issuer' })
      else await run(unassignDomain, ids, { done: 'Domain taken from its issuer' })
    } catch (fault) {
      tellFault(fault)
    }
    setBusy(false)
  }
  const { issuerId } = domain
  return (
    <Card title="Issuer" text="Whose sign-in pages are shown at this domain.">
      <Group align="flex-end">
        <Select
          label="Given to"
          placeholder="No issuer"
          {...soughtBy(withOne(issuers, issuerId), issuerId ? [issuerId] : [])}
          value={issuerId ?? null}
          disabled={busy || !may('assignDomain')}
          clearable={may('unassignDomain')}
          clearButtonProps={{ 'aria-label': 'Take it from the issuer' }}
          w={320}
          maw="100%"
          onChange={(value) => void give(value)}
        />
      </Group>
      <Text size="sm" c="dimmed" mt="md">
        Besides, let the domain lead to this Gatehouse: a CNAME or address record to the host that serves your issuers.
      </Text>
    </Card>
  )
}
