/** Theme of the hosted pages. Only hexadecimal colors are accepted, and text colors are adjusted for contrast. */
import type { IssuerSettings } from '../../../resources/issuers/settings.js'

type Rgb = readonly [red: number, green: number, blue: number]

const parseHex = (text: unknown): Rgb | undefined => {
  const digits = typeof text === 'string' ? /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(text)?.[1] : undefined
  if (!digits) return undefined
  const long = digits.length === 3 ? [...digits].map((digit) => digit + digit).join('') : digits
  return [0, 2, 4].map((at) => Number.parseInt(long.slice(at, at + 2), 16)) as unknown as Rgb
}

const toHex = (color: Rgb): string => `#${color.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`

const mix = (a: Rgb, b: Rgb, ratio: number): Rgb =>
  [0, 1, 2].map((i) => a[i]! * (1 - ratio) + b[i]! * ratio) as unknown as Rgb

/** Relative luminance (WCAG 2). */
function relativeLuminance(color: Rgb): number {
  const [r, g, b] = color.map((part) => {
    const c = part / 255
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(a: Rgb, b: Rgb): number {
  const [light, dark] = [relativeLuminance(a), relativeLuminance(b)].sort((x, y) => y - x) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

const white: Rgb = [255, 255, 255]
const nearBlack: Rgb = [17, 24, 39]
const contrastingColor = (background: Rgb): Rgb =>
  contrast(white, background) >= contrast(nearBlack, background) ? white : nearBlack

/**
 * Lightens or darkens a color until its contrast on a background is at least 4.5:1 (WCAG 1.4.3), or until it is white
 * or near-black.
 */
function ensureContrast(color: Rgb, background: Rgb): Rgb {
  const target = contrastingColor(background)
  for (let share = 0; share <= 1; share += 0.1) {
    const candidate = mix(color, target, share)
    if (contrast(candidate, background) >= 4.5) return candidate
  }
  return target
}

const defaults = {
  primary: parseHex('#2f5bea')!,
  background: parseHex('#f3f5fa')!,
  night: parseHex('#0c111b')!,
  nightCard: parseHex('#151c29')!,
}

/** Returns CSS custom properties for light and dark mode. A configured background is used in both. */
export function themeOf(settings: IssuerSettings): string {
  const theme = settings.branding?.theme ?? {}
  const primary = parseHex(theme.primary_color) ?? defaults.primary
  const chosenBackground = parseHex(theme.background_color)
  const background = chosenBackground ?? defaults.background
  const isDark = relativeLuminance(background) < 0.18
  const card = mix(background, white, isDark ? 0.06 : 0.85)
  const light = cssVariables(primary, background, card, parseHex(theme.text_color))
  const dark = chosenBackground ? light : cssVariables(primary, defaults.night, defaults.nightCard, undefined)
  return `:root{color-scheme:${chosenBackground ? (isDark ? 'dark' : 'light') : 'light dark'};${light}}@media(prefers-color-scheme:dark){:root{${dark}}}`
}

function cssVariables(primary: Rgb, background: Rgb, card: Rgb, requestedTextColor: Rgb | undefined): string {
  const text =
    requestedTextColor && contrast(requestedTextColor, card) >= 4.5 ? requestedTextColor : contrastingColor(card)
  const isDark = relativeLuminance(card) < 0.18
  const alarm = ensureContrast(isDark ? [255, 138, 138] : [176, 24, 24], card)
  // A brand color that can hardly be seen on the card is lightened.
  const button = contrast(primary, card) >= 1.6 ? primary : mix(primary, white, 0.35)
  const values = {
    primary: button,
    'on-primary': contrastingColor(button),
    accent: ensureContrast(primary, card),
    background,
    card,
    text,
    soft: ensureContrast(mix(text, card, 0.34), card),
    line: mix(card, text, 0.16),
    // Field borders need a contrast of 3:1 (WCAG 1.4.11).
    edge: mix(card, text, isDark ? 0.4 : 0.46),
    field: mix(card, isDark ? [0, 0, 0] : white, isDark ? 0.22 : 0.6),
    alarm,
    'alarm-ground': mix(card, alarm, isDark ? 0.14 : 0.07),
  }
  return Object.entries(values)
    .map(([name, color]) => `--${name}:${toHex(color)}`)
    .join(';')
}
