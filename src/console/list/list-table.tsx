import type { ReactNode } from 'react'
import { Link } from 'wouter'
import classes from './list.module.css'

export interface Column<Row> {
  head: string
  cell: (row: Row) => ReactNode
  /** CSS width. */
  width?: string
  /** Left out where there is little room. */
  wide?: boolean
  align?: 'right'
}

interface Props<Row> {
  label: string
  rows: readonly Row[]
  columns: readonly Column<Row>[]
  href?: (row: Row) => string
}

/** Rows of a list. The whole row leads to its thing; for keyboards and screen readers its first cell is the link. */
export function ListTable<Row extends { id: string }>({ label, rows, columns, href }: Props<Row>) {
  return (
    <table className={classes.table} aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ head, width, wide, align }) => (
            <th key={head} scope="col" style={{ width, textAlign: align }} data-wide={wide || undefined}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id} data-link={href ? true : undefined}>
            {columns.map(({ head, cell, wide, align }, at) => (
              <td key={head} data-wide={wide || undefined} style={{ textAlign: align }}>
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

/** Name over a smaller line, with a mark in front: the first cell of most lists. */
export function Named({ mark, name, text }: { mark?: ReactNode; name: ReactNode; text?: ReactNode }) {
  return (
    <span className={classes.named}>
      {mark && <span className={classes.mark}>{mark}</span>}
      <span className={classes.names}>
        <span className={classes.name}>{name}</span>
        {text && <span className={classes.text}>{text}</span>}
      </span>
    </span>
  )
}
