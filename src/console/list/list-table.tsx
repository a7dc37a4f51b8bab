import type { ReactNode } from 'react'
import { Link } from 'wouter'
import classes from './list.module.css'

export interface Column<Row> {
  header: string
  cell: (row: Row) => ReactNode
  /** CSS width. */
  width?: string
  /** Hides the column on narrow screens. */
  hideOnMobile?: boolean
  align?: 'right'
}

interface Props<Row> {
  label: string
  rows: readonly Row[]
  columns: readonly Column<Row>[]
  href?: (row: Row) => string
}

/**
 * The table of a list. With `href`, a click anywhere in a row opens the page of the row; for keyboards and screen
 * readers, the first cell is a link.
 */
export function ListTable<Row extends { id: string }>({ label, rows, columns, href }: Props<Row>) {
  return (
    <table className={classes.table} aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ header, width, hideOnMobile, align }) => (
            <th key={header} scope="col" style={{ width, textAlign: align }} data-wide={hideOnMobile || undefined}>
              {header}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id} data-link={href ? true : undefined}>
            {columns.map(({ header, cell, hideOnMobile, align }, at) => (
              <td key={header} data-wide={hideOnMobile || undefined} style={{ textAlign: align }}>
                {at === 0 && href ? (
                  <Link href={href(row)} className={classes.link}>
                    {cell(row)}
                  </Link>
                ) : (
                  cell(row)
                )}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** A cell with a name and, optionally, an icon or initials and a smaller line below the name. */
export function NameCell({ mark: icon, name, text }: { mark?: ReactNode; name: ReactNode; text?: ReactNode }) {
  return (
    <span className={classes.named}>
      {icon && <span className={classes.mark}>{icon}</span>}
      <span className={classes.names}>
        <span className={classes.name}>{name}</span>
        {text && <span className={classes.text}>{text}</span>}
      </span>
    </span>
  )
}
