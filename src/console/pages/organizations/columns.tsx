/** Organizations in a list, among all of an issuer or among those of one user. */
import type { OrganizationStatus } from 'documents/types'
import { type Column, Named } from '../../list/list-table'
import { Icon } from '../../parts/icon'
import { Moment, Status } from '../../parts/values'

interface Row {
  id: string
  name: string | null
  orgType: string | null
  status: OrganizationStatus
  createdAt: number
}

export const organizationColumns: Column<Row>[] = [
  {
    head: 'Name',
    cell: ({ name, id }) => <Named mark={<Icon name="building" />} name={name ?? 'Without a name'} text={id} />,
  },
  { head: 'Kind', width: '130px', wide: true, cell: ({ orgType }) => orgType ?? '–' },
  { head: 'Status', width: '130px', cell: ({ status }) => <Status value={status} /> },
  { head: 'Made', width: '130px', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
]
