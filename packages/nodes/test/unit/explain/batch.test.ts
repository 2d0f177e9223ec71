import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { BatchError, readBatch, withOutbounds, writtenTag } from '../../../src/explain/batch.ts';
import { recipeBlocks } from '../../../../../test/support/docs/recipe.ts';

describe('expectations for routes', () => {
  test('any text is read, or is an error with its line', () => {
    const word = fc.constantFrom('a:1', '=>', '"', 'from=', '\\', 'x', ' ', '"b c"', '\t', '#');
    const line = fc.oneof(
      fc.string(),
      fc.array(word).map((words) => words.join(' ')),
    );
    fc.assert(
      fc.property(fc.array(line), (any) => {
        const text = any.join('\n');
        try {
          const lines = readBatch(text, 'f');
          assert.equal(withOutbounds(text, lines, new Map()), text);
        } catch (error) {
          assert.ok(error instanceof BatchError && /^f:\d+: /.test(error.message), String(error));
        }
      }),
    );
  });

  test('what is written for any tag is read as that tag', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (tag) => {
        const lines = readBatch('a:1', 'f');
        const text = withOutbounds('a:1', lines, new Map([[1, tag]]));
        assert.equal(text, `a:1 => ${writtenTag(tag)}`);
        assert.equal(readBatch(text, 'f')[0]?.expected, tag);
      }),
    );
  });

  test('the example of the page is read', () => {
    const [example = ''] = recipeBlocks('docs/operations.md', 'Expectations for routes', 'text');
    assert.ok(readBatch(example, 'f').length > 0);
  });
});
