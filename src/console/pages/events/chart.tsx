/** A bar chart and a ranked list, whose values screen readers can read as text. */
import { VisuallyHidden } from '@mantine/core'
import classes from './events.module.css'

export interface Bar {
  label: string
  value: number
}

const WIDTH = 760
const HEIGHT = 220
const LEFT = 44
const BOTTOM = 24

/** Rounds up to the next of 1, 2, 4, 6, 8, 10, 20, 40, … */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)))
  return power * ([1, 2, 4, 6, 8, 10].find((step) => step * power >= value) ?? 10)
}

export function BarChart({ label, bars }: { label: string; bars: readonly Bar[] }) {
  const maxValue = roundUp(Math.max(...bars.map(({ value }) => value)))
  const plotHeight = HEIGHT - BOTTOM - 8
  const step = (WIDTH - LEFT) / bars.length
  const labelInterval = Math.ceil(bars.length / 8)
  const y = (value: number) => 8 + plotHeight - (value / maxValue) * plotHeight
  const ticks = maxValue < 2 ? [0, maxValue] : [0, maxValue / 2, maxValue]
  return (
    <>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} className={classes.chart} aria-hidden="true">
        {ticks.map((value) => (
          <g key={value}>
            <line className={classes.line} x1={LEFT} x2={WIDTH} y1={y(value)} y2={y(value)} />
            <text x={LEFT - 8} y={y(value) + 4} textAnchor="end">
              {value.toLocaleString('en', { notation: 'compact' })}
            </text>
          </g>
        ))}
        {bars.map((bar, at) => (
          <g key={bar.label}>
            <rect
              className={classes.bar}
              x={LEFT + at * step + step * 0.15}
              width={step * 0.7}
              y={y(bar.value)}
              height={8 + plotHeight - y(bar.value)}
              rx={Math.min(3, step * 0.2)}
            >
              <title>{`${bar.label}: ${bar.value.toLocaleString('en')}`}</title>
            </rect>
            {at % labelInterval === 0 && (
              <text x={LEFT + at * step + step / 2} y={HEIGHT - 6} textAnchor="middle">
                {bar.label}
              </text>
            )}
          </g>
        ))}
      </svg>
      <VisuallyHidden>
        <table>
          <caption>{label}</caption>
          <tbody>
            {bars.map((bar) => (
              <tr key={bar.label}>
                <th scope="row">{bar.label}</th>
                <td>{bar.value}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </VisuallyHidden>
    </>
  )
}

/** @param rows the largest first */
export function RankedList({ label, rows }: { label: string; rows: readonly Bar[] }) {
  const top = Math.max(1, ...rows.map(({ value }) => value))
  return (
    <ul className={classes.ranks} aria-label={label}>
      {rows.map((row) => (
        <li key={row.label}>
          <div>
            <span>{row.label}</span>
            <span>{row.value.toLocaleString('en')}</span>
          </div>
          <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
            <rect width={100} height={6} />
            <rect width={Math.max(1, (row.value / top) * 100)} height={6} />
          </svg>
        </li>
      ))}
    </ul>
  )
}
