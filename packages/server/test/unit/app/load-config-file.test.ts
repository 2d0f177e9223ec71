import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { loadConfigFile } from '../../../src/app/loading/inline-runner.ts';
import { FileDigests } from '../../../src/app/loading/file-digests.ts';
import { ConfigError, renderConfigError } from '@weir/config';
import { encodeGeoip } from '../../../../../test/support/data/geo-fixture.ts';

const DIRECT = '[[outbound]]\ntag = "direct"\nprotocol = "freedom"\n';

/** Paths in a folder that is removed with the test; the configuration is `weir.toml`. */
async function scratch(context: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'weir-source-'));
  context.after(() => rm(folder, { recursive: true }));
  const at = (name: string): string => join(folder, name);
  return { at, config: at('weir.toml'), quoted: (name: string) => JSON.stringify(at(name)) };
}

/** The error of a load that fails, and the log of what it read. */
async function failedLoad(path: string): Promise<{ error: ConfigError; files: FileDigests }> {
  const files = new FileDigests();
  try {
    await loadConfigFile(path, { files });
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return { error, files };
  }
  return assert.fail('it was loaded');
}

const xx = (prefix: number): Buffer =>
  encodeGeoip([{ code: 'XX', networks: [{ ip: [192, 0, 2, 0], prefix }] }]);

test('without a file the built-in configuration is loaded, which nothing can change', async () => {
  const files = new FileDigests();
  const { spec } = await loadConfigFile(undefined, { files });
  assert.equal(spec.inbounds.length, 2);
  assert.ok(await files.unchanged());
});

test('a configuration file that cannot be read is named, with the reason', async (context) => {
  const { config } = await scratch(context);
  const { error, files } = await failedLoad(config);
  assert.equal(error.message, `cannot read ${config}: no such file or directory`);
  assert.equal(error.kind, 'io');
  assert.equal(renderConfigError(error), error.message);
  assert.ok(await files.unchanged());
  await writeFile(config, DIRECT);
  assert.ok(!(await files.unchanged()));
});

test('every file that a configuration uses is one of those that count', async (context) => {
  const { at, config, quoted } = await scratch(context);
  await writeFile(at('ca.pem'), 'nothing that the system resolver would look at');
  await writeFile(at('geoip.dat'), xx(24));
  await writeFile(
    config,
    `${DIRECT}[dns]\nca_file = ${quoted('ca.pem')}\n[route]\ngeoip = ${quoted('geoip.dat')}\n` +
      `geosite = ${quoted('unused.dat')}\n[[route.rule]]\noutbound = "direct"\ngeoip = ["xx"]\n`,
  );
  const files = new FileDigests();
  const { geo } = await loadConfigFile(config, { files });
  assert.deepEqual([...geo.geoip.keys()], ['xx']);
  assert.ok(await files.unchanged());

  const originals = [
    ['ca.pem', 'nothing that the system resolver would look at'],
    ['geoip.dat', xx(24)],
  ] as const;
  for (const [name, original] of originals) {
    await writeFile(at(name), 'other');
    assert.ok(!(await files.unchanged()), name);
    await writeFile(at(name), original);
    assert.ok(await files.unchanged(), name);
  }
  await writeFile(at('unused.dat'), '');
  assert.ok(await files.unchanged());
});

describe('after a load that failed', () => {
  test('in the configuration file alone, that file counts', async (context) => {
    const { config } = await scratch(context);
    await writeFile(config, '[[');
    const { files } = await failedLoad(config);
    assert.ok(await files.unchanged());
    await writeFile(config, '[');
    assert.ok(!(await files.unchanged()));
  });

  test('over a file that is missing, its coming counts', async (context) => {
    const { at, config, quoted } = await scratch(context);
    await writeFile(config, `${DIRECT}[dns]\nca_file = ${quoted('ca.pem')}\n`);
    const { error, files } = await failedLoad(config);
    assert.equal(error.kind, 'io');
    assert.ok(renderConfigError(error).endsWith(`\n  at ${config}:5:11 (dns)`));
    assert.ok(await files.unchanged());
    await writeFile(at('ca.pem'), '');
    assert.ok(!(await files.unchanged()));
  });

  test('over what a geo file lacks, that file counts', async (context) => {
    const { at, config, quoted } = await scratch(context);
    await writeFile(at('geoip.dat'), xx(24));
    const rule = '[[route.rule]]\noutbound = "direct"\ngeoip = ["zz"]\n';
    await writeFile(config, `${DIRECT}[route]\ngeoip = ${quoted('geoip.dat')}\n${rule}`);
    const { error, files } = await failedLoad(config);
    assert.equal(error.message, 'geoip code not found: zz');
    assert.ok(renderConfigError(error).endsWith(`\n  at ${config}:8:10 (route.rule[0])`));
    assert.ok(await files.unchanged());
    await writeFile(at('geoip.dat'), xx(25));
    assert.ok(!(await files.unchanged()));
  });
});

test('a new geo file behind the same path is a different Spec', async (context) => {
  const { at, config, quoted } = await scratch(context);
  const rule = '[[route.rule]]\noutbound = "direct"\ngeoip = ["xx"]\n';
  await writeFile(config, `${DIRECT}[route]\ngeoip = ${quoted('geoip.dat')}\n${rule}`);
  await writeFile(at('geoip.dat'), xx(24));
  const before = await loadConfigFile(config);
  await writeFile(at('geoip.dat'), xx(25));
  const after = await loadConfigFile(config);
  assert.notDeepEqual(after.spec.route, before.spec.route);
});
