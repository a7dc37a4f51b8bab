/** Columns of organization lists. */
import type { OrganizationStatus } from 'documents/types'
import { Icon } from '../../components/icon'
import { RelativeTime, StatusBadge } from '../../components/values'
import { type Column, NameCell } from '../../list/list-table'

interface Row {
  id: string
  name: string | null
  orgType: string | null
  status: OrganizationStatus
  createdAt: number
}

export const organizationColumns: Column<Row>[] = [
  {
    header: 'Name',
    cell: ({ name, id }) => <NameCell mark={<Icon name="building" />} name={name ?? 'Unnamed'} text={id} />,
  },
  { header: 'Type', width: '130px', hideOnMobile: true, cell: ({ orgType }) => orgType ?? '–' },
  { header: 'Status', width: '130px', cell: ({ status }) => <StatusBadge value={status} /> },
  { header: 'Created', width: '130px', hideOnMobile: true, cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
]
