import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { DEFAULT_CONFIG } from '../../../src/config/default-config.ts';
import { parseConfig } from '../../../src/config/parse-config.ts';
import { specOf } from './support.ts';

const FOLDER = join(import.meta.dirname, '../../../config');

describe('the example', () => {
  for (const name of readdirSync(FOLDER).filter((file) => file.endsWith('.toml'))) {
    test(`${name} is valid and listens`, () => {
      const spec = parseConfig(readFileSync(join(FOLDER, name)), { file: name });
      assert.ok(spec.inbounds.length > 0);
    });
  }

  test('default.toml is the built-in configuration', () => {
    const file = parseConfig(readFileSync(join(FOLDER, 'default.toml')));
    assert.deepEqual(file, specOf(DEFAULT_CONFIG));
  });
});

test('the built-in configuration serves SOCKS and HTTP on loopback and goes straight out', () => {
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
