import { ID, InputType, Int, ObjectType } from 'type-graphql'
import { z } from 'zod'
import { fieldSchemas } from '../../../kernel/input.js'
import { limits } from '../../../kernel/limits.js'
import { enumType, inputRulesOf, Property } from '../../declaration.js'
import { JSONObject } from '../../graphql-types.js'
import { UsernameType } from '../user.js'
import { type Source, sources } from './sources.js'

export const ImportSource = enumType<Source>('ImportSource', 'A product whose exports of users can be imported.', {
  auth0: 'Auth0: an export of users with one JSON object per line.',
  keycloak: 'Keycloak: the users of a realm export.',
  logto: 'Logto: rows of the table users of its database.',
  gatehouse: 'Gatehouse: an export of another deployment.',
})

@InputType({ description: 'A record of a file with exported users.' })
export class ImportRecordInput {
  @Property(() => Int, {
    description: 'The line of the file where the record begins.',
    example: 1,
    rule: z.number('must be a number.'),
  })
  line!: number
  @Property(() => String, {
    description: 'The unchanged text of the record: one JSON object.',
    example: '{"email":"ada@example.com","email_verified":true}',
    rule: z.string('must be a string.'),
  })
  text!: string
}

@InputType({ description: 'A batch of the records of a file with exported users.' })
export class ImportUsersInput {
  @Property(() => ImportSource, {
    description: 'The product that wrote the file. By default it is detected from the first record.',
    example: 'auth0',
    nullable: true,
    rule: fieldSchemas.oneOf(sources).nullable(),
  })
  source?: Source | null
  @Property(() => Boolean, { description: 'Whether to check all records without writing anything.', example: true })
  dryRun!: boolean
  @Property(() => UsernameType, {
    description:
      'The type of identifier that becomes the username; email by default. A user without it gets another identifier as the username.',
    example: 'email',
    nullable: true,
    rule: fieldSchemas.oneOf(Object.values(UsernameType)).nullable(),
  })
  login?: UsernameType | null
  @Property(() => Boolean, {
    description:
      'Whether to import users with unsupported credentials without these credentials. By default, such users are refused.',
    nullable: true,
    rule: fieldSchemas.boolean.nullable(),
  })
  dropUnsupported?: boolean | null
  @Property(() => [ImportRecordInput], {
    description: 'At most 1,000 records; the request body must not exceed its size limit.',
    rule: z
      .array(inputRulesOf(ImportRecordInput))
      .max(limits.maxImportBatchRecords, `must have at most ${limits.maxImportBatchRecords} records.`),
  })
  records!: ImportRecordInput[]
  @Property(() => String, {
    description: 'The `continuation` of the previous batch. Null for the first batch.',
    nullable: true,
    rule: z.string('must be a string.').nullable(),
  })
  continues?: string | null
  @Property(() => Boolean, {
    description:
      'Whether this is the last batch. Except in a dry run, the last batch records the event `user.import.finished`, which webhooks receive.',
    example: true,
  })
  last!: boolean
}

export const importRules = inputRulesOf(ImportUsersInput)

@ObjectType({ description: 'A record that cannot be imported.' })
export class ImportRefusal {
  @Property(() => Int, { description: 'The line of the file where the record begins.', example: 1 })
  line!: number
  @Property(() => String, { description: 'The id in the other product, if it could be read.', nullable: true })
  externalId!: string | null
  @Property(() => String, { description: 'A stable error code.', example: 'no_username' })
  reason!: string
  @Property(() => String, {
    description: 'What is wrong with the record.',
    example: 'The record has no email address, username or phone number.',
  })
  message!: string
  @Property(() => String, {
    description: 'How to fix the record.',
    example: 'Add an email address, a username or a phone number.',
  })
  fix!: string
}

@ObjectType({ description: 'A user who was imported or, in a dry run, would be imported.' })
export class ImportedUser {
  @Property(() => Int, { description: 'The line of the file where the record begins.', example: 1 })
  line!: number
  @Property(() => String, { description: 'The id in the other product.', example: 'auth0|5f7c8ec7c33c6c004bbafe82' })
  externalId!: string
  @Property(() => ID, {
    description: 'The id of the user. Null in a dry run.',
    example: 'usr_01kb3w8hxv6k8y1f4sn0q3a7pd',
    nullable: true,
  })
  userId!: string | null
  @Property(() => String, {
    description: 'The hashed username, as in lists of users. Equal usernames have equal hashes.',
  })
  usernameHash!: string
}

/** A number of records or users of a batch. */
const Count = (description: string) => Property(() => Int, { description, example: 0 })

@ObjectType({ description: 'The result of one batch of an import.' })
export class ImportedPortion {
  @Property(() => ImportSource, { description: 'The product that wrote the file.', example: 'auth0' })
  source!: Source
  @Count('The number of records of the batch.')
  read!: number
  @Count('The number of users who were imported or, in a dry run, would be imported.')
  imported!: number
  @Count('The number of records that an earlier run or batch imported.')
  known!: number
  @Count('The number of records that cannot be imported.')
  refused!: number
  @Count('The number of imported users without a password.')
  withoutPassword!: number
  @Count('The number of imported users with a TOTP verifier.')
  totp!: number
  @Property(() => JSONObject, { description: 'The number of password hashes by format.', example: { bcrypt: 120 } })
  hashes!: object
  @Count(
    'The number of password hashes in a format without a work factor (digest, HMAC), with which an attacker can try passwords quickly.',
  )
  weak!: number
  @Property(() => [ImportRefusal], { description: 'The records that cannot be imported.' })
  refusals!: ImportRefusal[]
  @Property(() => [ImportedUser], { description: 'The users who were imported or, in a dry run, would be imported.' })
  users!: ImportedUser[]
  @Property(() => String, { description: 'The value of `continues` for the next batch, valid for one day.' })
  continuation!: string
}
