/** Names a device, such as "Firefox on Windows", by its User-Agent header. */
const browsers: [RegExp, string][] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:HeadlessChrome|Chrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
  [/\bcurl\//, 'curl'],
]
const systems: [RegExp, string][] = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/CrOS/, 'ChromeOS'],
  [/Linux/, 'Linux'],
]
const firstMatch = (list: [RegExp, string][], text: string): string | undefined =>
  list.find(([sign]) => sign.test(text))?.[1]

export function deviceName(userAgent: string | null | undefined): string {
  if (!userAgent) return 'Unknown device'
  const names = [firstMatch(browsers, userAgent), firstMatch(systems, userAgent)].filter(Boolean)
  return names.length === 0 ? userAgent : names.join(' on ')
}
