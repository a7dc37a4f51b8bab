/** A small preview of the hosted sign-in page with the unsaved name and colors, without the logo. */
import classes from './preview.module.css'

interface Props {
  values: Record<string, unknown>
  issuerName: string
}

const hexColor = (value: unknown, fallback: string): string =>
  typeof value === 'string' && /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.test(value) ? value : fallback

/** Returns dark text for a light background, otherwise white text (WCAG 2 relative luminance). */
function contrastColor(hex: string): string {
  const digits = hex.slice(1)
  const long = digits.length === 3 ? [...digits].map((digit) => digit + digit).join('') : digits
  const [r = 0, g = 0, b = 0] = [0, 2, 4].map((at) => {
    const part = Number.parseInt(long.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.36 ? '#111827' : '#ffffff'
}

export function LoginPreview({ values, issuerName }: Props) {
  const name = String(values['settings.branding.display_name'] || issuerName)
  const primary = hexColor(values['settings.branding.theme.primary_color'], '#2f5bea')
  const background = hexColor(values['settings.branding.theme.background_color'], '#f3f5fa')
  const isDark = contrastColor(background) === '#ffffff'
  const card = `color-mix(in srgb, ${background} ${isDark ? 94 : 15}%, #fff)`
  const text = hexColor(values['settings.branding.theme.text_color'], contrastColor(background))
  const style = {
    '--primary': primary,
    '--on-primary': contrastColor(primary),
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
