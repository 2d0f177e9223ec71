import { test } from 'node:test';
import * as fc from 'fast-check';
import { loadProtocols } from '@weir/proxy/protocols';
import { checkListEdits } from './inbound-lists.ts';
import { listCases } from './list-documents.ts';

// Errors show lines of the document.
await loadProtocols();

const DOCUMENTS = 20_000;

test(`a user is the only change in any of ${DOCUMENTS} documents, and every comment keeps its place`, () => {
  fc.assert(
    fc.property(listCases, (given) => {
      checkListEdits(given);
    }),
    { numRuns: DOCUMENTS },
  );
});
