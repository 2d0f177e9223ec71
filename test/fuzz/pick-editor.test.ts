import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { checkBrokenDocument, checkPickEdit } from './pick-edit.ts';
import { brokenDocuments, pickCases } from './toml-documents.ts';

const DOCUMENTS = 20_000;

test(`a pick is the only change in any of ${DOCUMENTS} documents`, (t) => {
  const seen = { refused: 0, unchanged: 0, replaced: 0, added: 0 };
  fc.assert(
    fc.property(pickCases, (given) => {
      seen[checkPickEdit(given).kind] += 1;
    }),
    { numRuns: DOCUMENTS },
  );
  t.diagnostic(JSON.stringify(seen));
  assert.ok(Math.min(seen.refused, seen.replaced, seen.added) > 100, 'the generator is too narrow');
});

test(`any of ${DOCUMENTS} broken documents is edited, or refused by name`, (t) => {
  const seen = { refused: 0, unchanged: 0, replaced: 0, added: 0 };
  fc.assert(
    fc.property(brokenDocuments, (bytes) => {
      seen[checkBrokenDocument(bytes)] += 1;
    }),
    { numRuns: DOCUMENTS },
  );
  t.diagnostic(JSON.stringify(seen));
});
