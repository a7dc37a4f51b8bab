/** An issuer's colours, made safe and legible: only plain hexadecimal ones, and text that can be read on them. */
import type { IssuerSettings } from '../../../resources/issuers/settings.js'

type Rgb = readonly [red: number, green: number, blue: number]

const parse = (text: unknown): Rgb | undefined => {
  const digits = typeof text === 'string' ? /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(text)?.[1] : undefined
  if (!digits) return undefined
  const long = digits.length === 3 ? [...digits].map((digit) => digit + digit).join('') : digits
  return [0, 2, 4].map((at) => Number.parseInt(long.slice(at, at + 2), 16)) as unknown as Rgb
}

const write = (colour: Rgb): string =>
  `#${colour.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`

const mix = (a: Rgb, b: Rgb, share: number): Rgb =>
  [0, 1, 2].map((i) => a[i]! * (1 - share) + b[i]! * share) as unknown as Rgb

/** Relative luminance (WCAG 2). */
function luminance(colour: Rgb): number {
  const [r, g, b] = colour.map((part) => {
    const c = part / 255
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(a: Rgb, b: Rgb): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

const white: Rgb = [255, 255, 255]
const ink: Rgb = [17, 24, 39]
const readable = (on: Rgb): Rgb => (contrast(white, on) >= contrast(ink, on) ? white : ink)

/** Lightens or darkens a colour until it can be read on a ground (4.5 to 1). */
function legible(colour: Rgb, on: Rgb): Rgb {
  const towards = readable(on)
  for (let share = 0; share <= 1; share += 0.1) {
    const shade = mix(colour, towards, share)
    if (contrast(shade, on) >= 4.5) return shade
  }
  return towards
}

const defaults = {
  primary: parse('#2f5bea')!,
  background: parse('#f3f5fa')!,
  night: parse('#0c111b')!,
  nightCard: parse('#151c29')!,
}

/** CSS custom properties for light and dark. A chosen background stays as it is in both. */
export function themeOf(settings: IssuerSettings): string {
  const theme = settings.branding?.theme ?? {}
  const primary = parse(theme.primary_color) ?? defaults.primary
  const chosen = parse(theme.background_color)
  const background = chosen ?? defaults.background
  const isDark = luminance(background) < 0.18
  const card = mix(background, white, isDark ? 0.06 : 0.85)
  const light = variables(primary, background, card, parse(theme.text_color))
  const dark = chosen ? light : variables(primary, defaults.night, defaults.nightCard, undefined)
  return `:root{color-scheme:${chosen ? (isDark ? 'dark' : 'light') : 'light dark'};${light}}@media(prefers-color-scheme:dark){:root{${dark}}}`
}

function variables(primary: Rgb, background: Rgb, card: Rgb, wished: Rgb | undefined): string {
  const text = wished && contrast(wished, card) >= 4.5 ? wished : readable(card)
  const isDark = luminance(card) < 0.18
  const alarm = legible(isDark ? [255, 138, 138] : [176, 24, 24], card)
  // A dark brand colour on a dark card is lifted until the button stands out.
  const button = contrast(primary, card) >= 1.6 ? primary : mix(primary, white, 0.35)
  const values = {
    primary: button,
    'on-primary': readable(button),
    accent: legible(primary, card),
    background,
    card,
    text,
    soft: legible(mix(text, card, 0.34), card),
    line: mix(card, text, 0.16),
    // The edge of a field says where to type: 3 to 1 (WCAG 1.4.11).
    edge: mix(card, text, isDark ? 0.4 : 0.46),
    field: mix(card, isDark ? [0, 0, 0] : white, isDark ? 0.22 : 0.6),
    alarm,
    'alarm-ground': mix(card, alarm, isDark ? 0.14 : 0.07),
  }
  return Object.entries(values)
    .map(([name, colour]) => `--${name}:${write(colour)}`)
    .join(';')
}
