/**
 * HTML templates with automatic escaping (docs/contract.md#output-escaping-and-page-headers). Templates insert only
 * `Html` values unescaped.
 */

export class Html {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text
  }
}

const htmlEscapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => htmlEscapes[character]!)

type HtmlPart = Html | string | number | false | null | undefined | readonly Html[]

/**
 * Template tag for HTML. Escapes interpolated strings, inserts `Html` values unescaped, joins arrays of them, and omits
 * false, null and undefined.
 */
export function html(strings: TemplateStringsArray, ...parts: HtmlPart[]): Html {
  const render = (part: HtmlPart): string => {
    if (part === false || part === null || part === undefined) return ''
    if (part instanceof Html) return part.text
    if (Array.isArray(part)) return part.join('')
    return escapeHtml(String(part))
  }
  return new Html(strings.reduce((text, string, index) => text + render(parts[index - 1]) + string))
}
