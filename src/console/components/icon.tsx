/** The icons of the console: strokes in a view box of 24 by 24, in the color of the text. */
const paths = {
  home: 'M4 11l8-7 8 7M6 9.5V20h4.5v-5h3v5H18V9.5',
  gate: 'M4 20V5h3v3h3V5h4v3h3V5h3v15h-5v-4a3 3 0 0 0-6 0v4z',
  settings: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4',
  app: 'M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z',
  users:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3 20c0-3.5 2.5-6 6-6s6 2.5 6 6M16 4.3a3.5 3.5 0 0 1 0 6.4M18 14.5c2 .8 3 2.9 3 5.5',
  user: 'M12 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM5 21c0-4 3-7 7-7s7 3 7 7',
  key: 'M10.3 10.7A5 5 0 1 1 13.3 13.7L11.5 15.5V18H9v2.5H4V17zM16.5 7.5v0',
  lock: 'M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l4.5 4.5',
  plus: 'M12 5v14M5 12h14',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  download: 'M12 4v11M7.5 11l4.5 4.5 4.5-4.5M5 20h14',
  upload: 'M12 20V9M7 13l5-5 5 5M5 4h14',
  chevronDown: 'M6 9.5l6 6 6-6',
  chevronRight: 'M9.5 6l6 6-6 6',
  chevronLeft: 'M14.5 6l-6 6 6 6',
  switch: 'M8 9l4-4 4 4M8 15l4 4 4-4',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z',
  signOut: 'M14 4h5v16h-5M15 12H4M8 8l-4 4 4 4',
  warning: 'M12 4l9 16H3zM12 10v4M12 17v.2',
  info: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 11v5.5M12 7.8v.2',
  trash: 'M4 7h16M9 7V4h6v3M6.5 7l1 13h9l1-13M10 11v5M14 11v5',
  refresh: 'M19.5 12a7.5 7.5 0 1 1-2.2-5.3L20 9M20 4v5h-5',
  external: 'M9 5H5v14h14v-4M13 5h6v6M19 5l-9 9',
  device: 'M3 5h18v11H3zM8 20h8M12 16v4',
  phone: 'M7 3h10v18H7zM11 18h2',
  globe: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18',
  server: 'M4 4h16v7H4zM4 13h16v7H4zM8 7.5v0M8 16.5v0',
  robot: 'M5 9h14v10H5zM12 9V5M9 13.5v1M15 13.5v1M2.5 13v3M21.5 13v3',
  shield: 'M12 3l8 3v6c0 4.5-3.5 7.5-8 9-4.5-1.5-8-4.5-8-9V6z',
  brush: 'M20 4L10 14M8 13c2.5 0 3.5 2 2.5 4-1 2-4 3-7 3 1-1 1-2 1.5-4s1.5-3 3-3z',
  fingerprint: 'M6 11a6 6 0 0 1 12 0v2M9 20c-1-2-1.5-4-1.5-7a4.5 4.5 0 0 1 9 0c0 2 0 3-.5 5M12 13c0 3 .5 5 1.5 7',
  mail: 'M3 6h18v13H3zM3 7.5l9 6 9-6',
  webhook: 'M9 8a3 3 0 1 1 4.5 2.5L17 17M7 12a3 3 0 1 0 3 4h5M14 15a3 3 0 1 0 3-1',
  pulse: 'M3 12h4l3-8 4 16 3-8h4',
  building: 'M5 21V4h9v17M14 9h5v12M8 8h3M8 12h3M8 16h3M3 21h18',
  note: 'M6 3h9l4 4v14H6zM14 3v5h5M9 12h6M9 16h6',
  card: 'M3 6h18v12H3zM3 10h18M7 15h3',
  inbox: 'M4 4h16v16H4zM4 14h5l1 2h4l1-2h5',
  menu: 'M4 7h16M4 12h16M4 17h16',
  code: 'M8 7l-5 5 5 5M16 7l5 5-5 5',
  pause: 'M9 6v12M15 6v12',
  play: 'M8 5l11 7-11 7z',
  close: 'M6 6l12 12M18 6L6 18',
} as const

export type IconName = keyof typeof paths

/** @param size in pixels */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.75}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={paths[name]} />
    </svg>
  )
}
