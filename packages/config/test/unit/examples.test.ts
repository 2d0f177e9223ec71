import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { FileDigests } from '@weir/server/app/loading/file-digests';
import { DEFAULT_CONFIG } from '../../src/sources/documents.ts';
import { isJsonData } from '../../../../test/support/json-data.ts';
import {
  exampleFiles,
  load,
  makeGeoFiles,
  specOf,
} from '../../../../test/support/config/support.ts';

const folder = makeGeoFiles();
after(() => rmSync(folder, { recursive: true }));
const EXAMPLES = exampleFiles(folder);

describe('the example', () => {
  for (const [name, text] of EXAMPLES) {
    test(`${name} is valid and listens`, async () => {
      const { spec } = await load(text, new FileDigests());
      assert.ok(spec.inbounds.length > 0);
      assert.ok(isJsonData(spec));
    });
  }

  test('default.toml is the built-in configuration', () => {
    const text = new Map(EXAMPLES).get('default.toml') ?? '';
    assert.deepEqual(specOf(text), specOf(DEFAULT_CONFIG));
  });
});

test('the built-in configuration serves SOCKS and HTTP on loopback and connects directly', () => {
  const { inbounds, outbounds, route } = specOf(DEFAULT_CONFIG);
  assert.deepEqual(
    inbounds.map(({ protocol, listen }) => ({ protocol, listen })),
    [
      { protocol: 'socks', listen: { kind: 'ip', host: '127.0.0.1', port: 1080 } },
      { protocol: 'http', listen: { kind: 'ip', host: '127.0.0.1', port: 8080 } },
    ],
  );
  assert.deepEqual(
    outbounds.map(({ tag, protocol }) => [tag, protocol]),
    [['direct', 'freedom']],
  );
  assert.equal(route.default, 'direct');
});
