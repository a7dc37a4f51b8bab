/** Mentions and references in notes (docs/contract.md#note-fields-and-links), which Markdown code does not contain. */
import { describe, expect, test } from '@jest/globals'
import { parseLinks } from '../../src/resources/notes/links.js'

/** Returns mentions as `user:name` and references as `type:id:text`. */
const linksIn = (content: string) => {
  const { mentions, references } = parseLinks(content)
  return [
    ...mentions.map(({ userId, displayName }) => `${userId}:${displayName}`),
    ...references.map(({ type, refId, displayText }) => `${type}:${refId}:${displayText}`),
  ]
}

describe('mentions', () => {
  test.each<[string, string[]]>([
    ['', []],
    ['@[Ada](usr_1)', ['usr_1:Ada']],
    ['Ask @[Ada Lovelace](usr_1), please.', ['usr_1:Ada Lovelace']],
    ['@[Ada](usr_1) and @[Bo](usr_2)', ['usr_1:Ada', 'usr_2:Bo']],
    // Several mentions of a user result in one mention, with the first display name.
    ['@[Ada](usr_1) @[A.](usr_1)', ['usr_1:Ada']],
    ['@[Ada]( usr_1)', []],
    ['@[Ada](usr 1)', []],
    ['@[Ada]()', []],
    ['@[](usr_1)', []],
    ['@[Ada\n](usr_1)', []],
    ['@[A[d]a](usr_1)', []],
    ['[Ada](usr_1)', []],
    ['@Ada', []],
    [`@[${'x'.repeat(200)}](usr_1)`, [`usr_1:${'x'.repeat(200)}`]],
    [`@[${'x'.repeat(201)}](usr_1)`, []],
    [`@[Ada](${'x'.repeat(64)})`, [`${'x'.repeat(64)}:Ada`]],
    [`@[Ada](${'x'.repeat(65)})`, []],
  ])('%j contains %j', (content, links) => expect(linksIn(content)).toEqual(links))
})

describe('references', () => {
  test.each<[string, string[]]>([
    ['[[user:usr_1]]', ['user:usr_1:null']],
    ['[[user:usr_1|Ada]]', ['user:usr_1:Ada']],
    ['[[org:org_1]] [[issuer:iss_1]] [[client:cli_1]]', ['org:org_1:null', 'issuer:iss_1:null', 'client:cli_1:null']],
    ['[[webhook:whk_1]] [[api_key:ak_1]]', ['webhook:whk_1:null', 'api_key:ak_1:null']],
    ['[[user:usr_1|Ada]] [[user:usr_1|A.]]', ['user:usr_1:Ada']],
    // References with the same id and different types are different.
    ['[[user:x]] [[org:x]]', ['user:x:null', 'org:x:null']],
    ['[[agent:agt_1]]', []],
    ['[[USER:usr_1]]', []],
    ['[[user: usr_1]]', []],
    ['[[user:]]', []],
    ['[[user:usr_1|]]', []],
    ['[[user:usr_1', []],
    ['[user:usr_1]', []],
    ['[[user:usr_1|A]da]]', []],
    ['@[Ada](usr_1) [[user:usr_2]]', ['usr_1:Ada', 'user:usr_2:null']],
  ])('%j contains %j', (content, links) => expect(linksIn(content)).toEqual(links))
})

describe('code and escapes contain no links', () => {
  const link = '[[user:usr_1]]'
  test.each<[string, boolean]>([
    [`\`${link}\``, false],
    [`\`\`${link}\`\``, false],
    [`\`\`a \` ${link}\`\``, false],
    // A code span ends with a run of as many backticks in the same paragraph.
    [`\`${link}`, true],
    [`\`\`${link}\``, true],
    [`\`a\n\n${link}\``, true],
    [`\`a\n${link}\``, false],
    [`\\\`${link}\``, true],
    [`\\${link}`, false],
    ['\\@[Ada](usr_1)', false],
    [`\`\`\`\n${link}\n\`\`\``, false],
    [`~~~\n${link}\n~~~`, false],
    [`\`\`\`\n${link}`, false],
    [`\`\`\`ts\n${link}\n\`\`\``, false],
    [`> \`\`\`\n> ${link}\n> \`\`\``, false],
    [`- \`\`\`\n  ${link}\n  \`\`\``, false],
    [`1. ~~~\n   ${link}\n   ~~~`, false],
    // A fence of the same character that is at least as long closes the block.
    [`\`\`\`\nx\n\`\`\`\`\n${link}`, true],
    [`\`\`\`\`\nx\n\`\`\`\n${link}`, false],
    [`\`\`\`\nx\n~~~\n${link}`, false],
    [`\`\`\`\nx\n\`\`\` y\n${link}`, false],
    [`\`\`\`\nx\n\`\`\`\r\n${link}`, true],
    [`\`\`\` a\`b\n${link}`, true],
    [`\`\`\n${link}\n\`\``, false],
    ['[[user:`x`usr_1]]', false],
    ['@[A`x`da](usr_1)', false],
  ])('%j contains a link: %s', (content, found) => expect(linksIn(content).length > 0).toBe(found))
})
