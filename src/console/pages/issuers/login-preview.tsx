/** A small preview of the hosted sign-in page with the unsaved name and colors, without the logo. */
import classes from './preview.module.css'

interface Props {
  values: Record<string, unknown>
  issuerName: string
}

const hexColor = (value: unknown, fallback: string): string =>
  typeof value === 'string' && /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.test(value) ? value : fallback

const white = '#ffffff'
const nearBlack = '#111827'

/** Returns red, green and blue, from 0 to 255. */
function parseHex(hex: string): number[] {
  const digits = hex.slice(1)
  const long = digits.length === 3 ? [...digits].map((digit) => digit + digit).join('') : digits
  return [0, 2, 4].map((at) => Number.parseInt(long.slice(at, at + 2), 16))
}

/** Mixes a color with white. @param ratio the share of white, from 0 to 1 */
const mixWithWhite = (hex: string, ratio: number): string =>
  `#${parseHex(hex)
    .map((part) =>
      Math.round(part * (1 - ratio) + 255 * ratio)
        .toString(16)
        .padStart(2, '0'),
    )
    .join('')}`

/** Relative luminance (WCAG 2). */
function relativeLuminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = parseHex(hex).map((value) => {
    const part = value / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(a: string, b: string): number {
  const [light = 0, dark = 0] = [relativeLuminance(a), relativeLuminance(b)].sort((x, y) => y - x)
  return (light + 0.05) / (dark + 0.05)
}

const contrastingColor = (background: string): string =>
  contrast(white, background) >= contrast(nearBlack, background) ? white : nearBlack

/** The colors are computed as in `src/idp/login/pages/theme.ts`, which the console cannot import. */
export function LoginPreview({ values, issuerName }: Props) {
  const name = String(values['settings.branding.display_name'] || issuerName)
  const primary = hexColor(values['settings.branding.theme.primary_color'], '#2f5bea')
  const background = hexColor(values['settings.branding.theme.background_color'], '#f3f5fa')
  const card = mixWithWhite(background, relativeLuminance(background) < 0.18 ? 0.06 : 0.85)
  const requestedText = hexColor(values['settings.branding.theme.text_color'], contrastingColor(card))
  const text = contrast(requestedText, card) >= 4.5 ? requestedText : contrastingColor(card)
  const button = contrast(primary, card) >= 1.6 ? primary : mixWithWhite(primary, 0.35)
  const style = {
    '--primary': button,
    '--on-primary': contrastingColor(button),
    '--ground': background,
    '--card': card,
    '--text': text,
  } as React.CSSProperties
  return (
    <figure className={classes.frame} aria-label="Preview of the sign-in page">
      <div className={classes.page} style={style} aria-hidden="true">
        <div className={classes.card}>
          <div className={classes.brand}>
            <span className={classes.mark}>{name.charAt(0).toUpperCase()}</span>
            {name}
          </div>
          <strong className={classes.title}>Sign in</strong>
          <span className={classes.label}>Username or email</span>
          <span className={classes.field}>ada@example.com</span>
          <span className={classes.label}>Password</span>
          <span className={classes.field}>••••••••••</span>
          <span className={classes.button}>Sign in</span>
        </div>
      </div>
      <figcaption>Preview</figcaption>
    </figure>
  )
}
