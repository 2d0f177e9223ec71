import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { ControlError } from '../../../src/api/contract.ts';
import { FileDigests } from '../../../src/app/loading/file-digests.ts';
import { Reloader } from '../../../src/app/reloader.ts';
import { Configuration } from '../../../src/app/configuration.ts';
import { RegexCache } from '@weir/proxy/names';
import { type AppliedReport, ApplyError } from '../../../src/supervisor/reload-report.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';

const outbound = (tag: string): string => `[[outbound]]\ntag = "${tag}"\nprotocol = "freedom"\n`;

const REPORT: AppliedReport = {
  status: 'applied',
  built: ['route'],
  swapped: [],
  drained: [],
  rebound: [],
  restarted: [],
  removed: [],
  reused: [],
};

/** A reloader over a file, that counts what it applies and fails it on demand. */
async function subject() {
  const folder = await scratch();
  const path = join(folder.path, 'weir.toml');
  const write = (text: string): Promise<void> => writeFile(path, text);
  const state = {
    applied: 0,
    /** What the next applies reject with. */
    failure: undefined as Error | undefined,
    running: 0,
    most: 0,
  };
  await write(outbound('a'));
  const files = new FileDigests();
  const configuration = new Configuration({
    source: { path },
    regexes: new RegexCache(),
    serveApi: true,
    build: async () => undefined,
    stopping: new AbortController().signal,
  });
  await configuration.load(files);
  const reloader = new Reloader(
    configuration,
    {
      apply: async (_loaded, committed) => {
        state.running++;
        state.most = Math.max(state.most, state.running);
        await Promise.resolve();
        state.running--;
        if (state.failure) throw state.failure;
        state.applied++;
        committed?.();
        return REPORT;
      },
    },
    files,
  );
  return {
    path,
    write,
    state,
    reloader,
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

const fails = (work: Promise<unknown>, code: string, message: string | RegExp): Promise<void> =>
  assert.rejects(work, (error) => {
    assert.ok(error instanceof ControlError, String(error));
    assert.equal(error.code, code, error.message);
    if (typeof message === 'string') assert.equal(error.message, message);
    else assert.match(error.message, message);
    return true;
  });

test('files that run are unchanged, and are not loaded', async () => {
  await using it = await subject();
  assert.deepEqual(await it.reloader.reload(), { status: 'unchanged' });
  assert.equal(it.state.applied, 0);
});

test('a change is applied once', async () => {
  await using it = await subject();
  await it.write(outbound('b'));
  assert.equal(await it.reloader.reload(), REPORT);
  assert.deepEqual(await it.reloader.reload(), { status: 'unchanged' });
  assert.equal(it.state.applied, 1);
});

test('files that failed are refused again with what was wrong, without another try', async () => {
  await using it = await subject();
  await it.write('[route]\n');
  await fails(it.reloader.reload(), 'invalid', 'config defines no outbounds');
  await fails(
    it.reloader.reload(),
    'invalid',
    'config defines no outbounds (the files have not changed since this was found)',
  );
  await it.write(outbound('b'));
  assert.equal(await it.reloader.reload(), REPORT);
  assert.deepEqual(await it.reloader.reload(), { status: 'unchanged' });
});

test('an address that could not be had fails the first time and is invalid from then on', async () => {
  await using it = await subject();
  it.state.failure = new ApplyError('bind', 'inbound s: address already in use');
  await it.write(outbound('b'));
  await fails(it.reloader.reload(), 'failed', 'inbound s: address already in use');
  it.state.failure = undefined;
  await fails(
    it.reloader.reload(),
    'invalid',
    'inbound s: address already in use (the files have not changed since this was found)',
  );
});

test('the loaded files are those of the last reload that was applied', async () => {
  await using it = await subject();
  const same = async (): Promise<readonly boolean[]> => {
    const files = await Array.fromAsync(it.reloader.loaded.compared());
    return files.map(({ isSame }) => isSame);
  };
  assert.deepEqual(await same(), [true]);
  await it.write('[route]\n');
  await fails(it.reloader.reload(), 'invalid', /no outbounds/);
  assert.deepEqual(await same(), [false]);
  await it.write(outbound('b'));
  assert.equal(await it.reloader.reload(), REPORT);
  assert.deepEqual(await same(), [true]);
});

test('after a failure the files that run are a change back', async () => {
  await using it = await subject();
  await it.write('[route]\n');
  await fails(it.reloader.reload(), 'invalid', /no outbounds/);
  await it.write(outbound('a'));
  assert.equal(await it.reloader.reload(), REPORT);
});

test('a file that cannot be read fails every time in the same way', async () => {
  await using it = await subject();
  await rm(it.path);
  const text = `cannot read ${it.path}: no such file or directory`;
  await fails(it.reloader.reload(), 'failed', text);
  await fails(it.reloader.reload(), 'failed', text);
  assert.deepEqual(it.reloader.files.paths, [it.path]);
});

test('a file that comes back as it was is no change', async () => {
  await using it = await subject();
  await rm(it.path);
  await fails(it.reloader.reload(), 'failed', /no such file/);
  await it.write(outbound('a'));
  assert.deepEqual(await it.reloader.reload(), { status: 'unchanged' });
});

test('a file that comes back as the one that was refused is refused again', async () => {
  await using it = await subject();
  await it.write('[route]\n');
  await fails(it.reloader.reload(), 'invalid', /no outbounds/);
  await rm(it.path);
  await fails(it.reloader.reload(), 'failed', /no such file/);
  await it.write('[route]\n');
  await fails(it.reloader.reload(), 'invalid', /have not changed since this was found/);
});

test('a subscribe file that is not there is prefixed with the path that was read', async () => {
  await using it = await subject();
  await it.write('[subscribe]\npath = "nodes.toml"\n');
  await fails(
    it.reloader.reload(),
    'failed',
    /^cannot read .*weir\.toml: subscribe file .*nodes\.toml: no such file or directory$/,
  );
  assert.equal(it.reloader.files.paths.length, 2);
  await it.write('[subscribe]\n');
  await fails(
    it.reloader.reload(),
    'invalid',
    `cannot read ${it.path}: [subscribe] needs a path naming the subscribe file`,
  );
});

test('reloads that are asked for at once are done one after the other', async () => {
  await using it = await subject();
  await it.write(outbound('b'));
  const reports = await Promise.all([1, 2, 3, 4].map(() => it.reloader.reload()));
  assert.deepEqual(
    reports.map(({ status }) => status),
    ['applied', 'unchanged', 'unchanged', 'unchanged'],
  );
  assert.equal(it.state.most, 1);
});
