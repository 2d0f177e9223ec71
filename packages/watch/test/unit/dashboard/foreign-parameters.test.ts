import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { SOURCES } from '../../../src/dashboard/sources.ts';
import type { JsonValue } from '../../../src/dashboard/shared/protocol.ts';
import { WeirError } from '@weir/base';
import { contextOf, FakeApi } from '../../../../../test/support/dashboard/context.ts';

const api = new FakeApi(() => Promise.reject(new WeirError('lost', 'the API is lost')));
const PARTS = SOURCES.map((create) => create(contextOf({ api })));
const { signal } = new AbortController();

/** Names that parameters have, so that values of any type get to what reads them. */
const NAMES = [
  'text',
  'search',
  'first',
  'count',
  'sort',
  'descending',
  'group',
  'target',
  'tag',
  'id',
  'ids',
  'url',
  'tries',
  'destination',
  'filter',
  'level',
  'frozen',
  'etag',
  'inbound',
  'name',
  '__proto__',
];

const hostile = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  fc.dictionary(
    fc.constantFrom(...NAMES),
    fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom(-1, 1e21, 0.5, Number.MAX_SAFE_INTEGER, '\u0000', '*'.repeat(2000), 'host:*'),
    ),
  ),
) as fc.Arbitrary<JsonValue>;

describe('any parameters', () => {
  for (const topic of PARTS.flatMap(({ topics }) => topics)) {
    test(`of the topic ${topic.name} have a value, or an error that the page shows`, () => {
      fc.assert(
        fc.property(hostile, (parameters) => {
          try {
            JSON.stringify(topic.view(parameters));
          } catch (error) {
            assert.ok(error instanceof WeirError, String(error));
          }
        }),
      );
    });
  }

  for (const action of PARTS.flatMap(({ actions }) => actions)) {
    test(`of the action ${action.name} have a result, or an error that the page shows`, async () => {
      await fc.assert(
        fc.asyncProperty(hostile, async (parameters) => {
          try {
            JSON.stringify(await action.run(parameters, signal));
          } catch (error) {
            assert.ok(error instanceof WeirError, String(error));
          }
        }),
      );
    });
  }
});
