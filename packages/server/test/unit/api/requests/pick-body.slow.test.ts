import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { parsePickBody } from '../../../../src/api/requests.ts';
import { pickOutcome } from '../../../../../../test/support/api/pick-outcome.ts';
import { CODE_POINT } from '../../../../../../test/support/data/code-point.ts';

describe('the body of a pick', () => {
  test('any target survives being written and read', () => {
    fc.assert(
      fc.property(fc.string({ unit: CODE_POINT }), fc.boolean(), (target, spaced) => {
        const text = JSON.stringify({ target }, null, spaced ? 2 : undefined);
        assert.equal(parsePickBody(Buffer.from(text)), target);
      }),
    );
  });

  test('is accepted exactly when JSON.parse gives one string under target', () => {
    const piece = fc.constantFrom(
      ...'{}[]",:\\ntrue1-.e \n'.split(''),
      '"target"',
      '"x"',
      '\\u0041',
      '\u0000',
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
        (text) => {
          let value: unknown;
          try {
            value = JSON.parse(text);
          } catch {
            assert.ok(!pickOutcome(text).startsWith('target '));
            return;
          }
          const fields =
            typeof value === 'object' && value && !Array.isArray(value)
              ? Object.entries(value)
              : [];
          const [[key, target] = []] = fields;
          const repeated = (text.match(/"target"\s*:/g)?.length ?? 0) > 1;
          const good =
            fields.length === 1 && key === 'target' && typeof target === 'string' && !repeated;
          assert.equal(pickOutcome(text).startsWith('target '), good, text);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('a string of two million escapes takes no stack', () => {
    const target = '\n'.repeat(1_000_000);
    assert.equal(parsePickBody(Buffer.from(JSON.stringify({ target }))), target);
    assert.match(pickOutcome('['.repeat(2_000_000)), /invalid type: sequence/);
  });
});
