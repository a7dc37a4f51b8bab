-- Beyond Prisma's models: triggers, functions and indexes, written by hand and kept by a rewrite.
-- Search by the beginning of a text, behind marks of headings, lists and mentions (src/resources/search.ts).
CREATE INDEX notes_by_text
  ON notes (account_id, lower(left(ltrim(content, '#*>-@[ '), 200)) COLLATE "C", id COLLATE "C");
