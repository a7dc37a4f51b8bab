/** HTML that cannot be broken out of (security rule 16): whatever is put into a template is escaped, unless it is HTML. */

export class Html {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text
  }
}

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

export const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => escapes[character]!)

type Part = Html | string | number | false | null | undefined | readonly Html[]

/** `html\`<p>${anything}</p>\`` */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  const shown = (part: Part): string => {
    if (part === false || part === null || part === undefined) return ''
    if (part instanceof Html) return part.text
    if (Array.isArray(part)) return part.join('')
    return escaped(String(part))
  }
  return new Html(strings.reduce((text, string, index) => text + shown(parts[index - 1]) + string))
}
