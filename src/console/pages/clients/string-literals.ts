/** Values of a client as literals of code snippets. A redirect URI can contain quotes, so it could otherwise add code. */

/** Returns a JavaScript string literal, in single quotes unless a character needs an escape sequence. */
export const javascriptString = (value: string): string =>
  /['\\\p{Cc}\u2028\u2029]/u.test(value) ? JSON.stringify(value) : `'${value}'`

/** Returns a string literal in double quotes for JavaScript, Python and Go, which all have the escape sequences of JSON. */
export const doubleQuotedString = (value: string): string => JSON.stringify(value)

/** Returns a word of a POSIX shell, in single quotes if a character has a special meaning. */
export const shellWord = (value: string): string =>
  /^[\w.:/@%+=,-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`
