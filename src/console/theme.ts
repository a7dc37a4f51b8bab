import { createTheme, type MantineColorsTuple } from '@mantine/core'

/** The brand color. */
const gate: MantineColorsTuple = [
  '#eef3ff',
  '#dbe5ff',
  '#b7c9fe',
  '#8faafc',
  '#6c8ef8',
  '#4f74f3',
  '#3b5fe6',
  '#2c4dcb',
  '#2440a6',
  '#1f3580',
]
/** Grays with a tint of blue. */
const gray: MantineColorsTuple = [
  '#f8f9fb',
  '#f1f3f6',
  '#e6e9ee',
  '#d6dae1',
  '#b8bec9',
  '#9097a5',
  '#69707f',
  '#4a5160',
  '#313744',
  '#1b202b',
]
const dark: MantineColorsTuple = [
  '#d3d7df',
  '#b3b9c5',
  '#8d95a5',
  '#646c7d',
  '#3c4352',
  '#2a303c',
  '#1d222c',
  '#14181f',
  '#10131a',
  '#0b0d12',
]

/** The dark shades are readable on a white background, the light shades on a black one. */
const red: MantineColorsTuple = [
  '#fff1f1',
  '#ffdede',
  '#ffbdbd',
  '#ff9a9a',
  '#ff8585',
  '#ee5c5c',
  '#cc2e2e',
  '#b32424',
  '#941d1d',
  '#761717',
]

const control = { defaultProps: { size: 'sm', radius: 'md' } }

export const theme = createTheme({
  primaryColor: 'gate',
  primaryShade: 6,
  colors: { gate, gray, dark, red },
  autoContrast: true,
  respectReducedMotion: true,
  fontFamily: 'Inter, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace',
  defaultRadius: 'md',
  fontSizes: { xs: '0.75rem', sm: '0.8438rem', md: '0.9375rem', lg: '1.0625rem', xl: '1.25rem' },
  headings: {
    fontWeight: '620',
    sizes: { h1: { fontSize: '1.5rem', lineHeight: '1.25' }, h2: { fontSize: '1.0625rem', lineHeight: '1.35' } },
  },
  components: {
    Button: { defaultProps: { size: 'sm', radius: 'md' } },
    TextInput: control,
    PasswordInput: control,
    NumberInput: control,
    Select: control,
    Textarea: control,
    TagsInput: control,
    Switch: { defaultProps: { size: 'sm' } },
    Modal: {
      styles: {
        title: { fontSize: '1.0625rem', fontWeight: 620, letterSpacing: '-0.014em' },
        header: { padding: '18px 20px 10px' },
        body: { padding: '4px 20px 20px' },
      },
      defaultProps: {
        radius: 'lg',
        centered: true,
        overlayProps: { backgroundOpacity: 0.4, blur: 2 },
        closeButtonProps: { 'aria-label': 'Close' },
      },
    },
    Tooltip: { defaultProps: { openDelay: 250, withArrow: true } },
    // The sliders of ColorPicker have no accessible names by default. ColorInput contains a ColorPicker.
    ColorPicker: { defaultProps: { saturationLabel: 'Saturation and lightness', hueLabel: 'Hue' } },
    Notification: { defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } },
    Drawer: { defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } },
    Menu: { defaultProps: { shadow: 'md', radius: 'md' } },
  },
})
