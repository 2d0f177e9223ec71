import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { lessChart } from '../../../packaging/chart.ts';
import { packPage } from '../../../packaging/page.ts';
import { filesOf } from '../../../packaging/substitutes/package/packed-page.ts';

/** Bytes of the whole page as it is sent. */
const MOST = 60_000;

describe('the page of the dashboard in packages', () => {
  const packed = packPage();

  test(`is at most ${MOST} bytes as it is sent`, async () => {
    const { page } = await packed;
    const sizes = page.map(({ path, br }) => [path, Buffer.from(br, 'base64').length] as const);
    const sum = sizes.reduce((all, [, size]) => all + size, 0);
    assert.ok(sum <= MOST, `${sum} bytes: ${JSON.stringify(sizes)}`);
  });

  test('is a document with one script and one style sheet, which name their content', async () => {
    const { page } = await packed;
    const files = filesOf(page);
    const document = await files.get('/');
    assert.ok(document);
    assert.equal(document.immutable, false);
    assert.deepEqual(files.scriptHashes, []);
    const paths = page.map(({ path }) => path).toSorted();
    assert.equal(paths.length, 4);
    assert.match(paths.join(' '), /^\/ \/icon\.svg \/main-\w{8}\.js \/style-\w{8}\.css$/);
    for (const path of paths.slice(2)) assert.equal((await files.get(path))?.immutable, true);
  });
});

test('another uPlot than the one that is shortened fails the build', () => {
  assert.throws(() => lessChart('export default 1;'), /uPlot has 0 times/);
});
