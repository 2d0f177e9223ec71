import assert from 'node:assert/strict';
import { chmod, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ControlError, type PickResult, type IfMatch } from '../../../src/api/contract.ts';
import { etagOf } from '../../../src/app/loading/inline-runner.ts';
import { lockEdited } from '../../../src/app/lock-file.ts';
import { Picker, type PickedConfiguration } from '../../../src/app/picker.ts';
import { systemFiles, type ReplaceFileSystem } from '../../../src/app/replace-file.ts';
import { Configuration } from '../../../src/app/configuration.ts';
import { RegexCache } from '@weir/proxy/names';
import { ConfigError } from '@weir/config';
import { ApplyError, type ReloadReport } from '../../../src/supervisor/reload-report.ts';
import { watchedFiles, type Step } from '../../../../../test/support/files/watched-files.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';

const outbound = (tag: string): string => `[[outbound]]\ntag = "${tag}"\nprotocol = "freedom"\n`;
const PLAIN = `${outbound('a')}${outbound('b')}[route]\ndefault = "a" # mine\n`;
const SUBSCRIBED = `${outbound('a')}[subscribe]\npath = "nodes.toml"\n`;
const NODES = `[[proxy_server]]
name = "n"
protocol = "socks"
server = "192.0.2.1"
port = 1
[[route_group]]
name = "Video Streaming"
`;
const UNCHANGED: ReloadReport = { status: 'unchanged' };

/** A configuration that only loads, with a check of its own. The files here are small: no thread is started. */
function configurationAt(
  path: string | undefined,
  check: PickedConfiguration['check'] = async () => undefined,
): PickedConfiguration {
  const configuration = new Configuration({
    source: { path },
    regexes: new RegexCache(),
    serveApi: true,
    build: async () => undefined,
    stopping: new AbortController().signal,
  });
  return {
    path,
    routes: (signal) => configuration.routes(signal),
    edit: (pick, signal) => configuration.edit(pick, signal),
    check,
  };
}

interface Options {
  readonly config?: string;
  readonly fs?: ReplaceFileSystem;
  readonly check?: PickedConfiguration['check'];
  readonly reload?: () => Promise<ReloadReport>;
  readonly lockMs?: number;
}

/** A picker over files, with a log of the steps that are not its own. */
async function subject(options: Options = {}) {
  const { config = PLAIN, fs = systemFiles, check, reload, lockMs } = options;
  const folder = await scratch();
  const path = join(folder.path, 'weir.toml');
  const nodes = join(folder.path, 'nodes.toml');
  await writeFile(path, config);
  await writeFile(nodes, NODES);
  const log: string[] = [];
  const configuration = configurationAt(path, async (bytes) => {
    log.push('check');
    await check?.(bytes);
  });
  const reloads = async (): Promise<ReloadReport> => {
    log.push('reload');
    return reload ? reload() : UNCHANGED;
  };
  const picker = new Picker(configuration, reloads, fs, lockMs);
  const text = (): Promise<string> => readFile(path, 'utf8');
  return {
    folder: folder.path,
    path,
    nodes,
    log,
    picker,
    text,
    etag: async () => etagOf(await readFile(path)),
    /** What lies beside the two files. */
    litter: async () =>
      (await readdir(folder.path)).filter((name) => !['weir.toml', 'nodes.toml'].includes(name)),
    pick: (
      group: string,
      target: string,
      ifMatch: IfMatch = { kind: 'any' },
      signal = new AbortController().signal,
    ): Promise<PickResult> => picker.pick(group, target, ifMatch, signal),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

type Subject = Awaited<ReturnType<typeof subject>>;

interface Expected {
  readonly code: string;
  readonly message: string | RegExp;
  readonly etag?: string | undefined;
}

/** The work fails like this; `etag` is that of the error. */
const fails = (work: Promise<unknown>, { code, message, etag }: Expected): Promise<void> =>
  assert.rejects(work, (error) => {
    assert.ok(error instanceof ControlError, String(error));
    assert.equal(error.code, code, error.message);
    if (typeof message === 'string') assert.equal(error.message, message);
    else assert.match(error.message, message);
    assert.equal(error.etag, etag);
    return true;
  });

/** The work fails, and neither a byte of the file nor what lies beside it has changed. */
async function failsUntouched(it: Subject, work: Promise<unknown>, what: Expected): Promise<void> {
  const before = await it.text();
  await fails(work, what);
  assert.equal(await it.text(), before);
  assert.deepEqual(await it.litter(), []);
}

const is = (etag: string): IfMatch => ({ kind: 'is', etag });

describe('a pick', () => {
  test('is checked, written and reloaded, in this order, and gives the tag of the new file', async () => {
    const seen: string[] = [];
    await using it = await subject({
      check: async (bytes) => void seen.push(Buffer.from(bytes).toString(), await it.text()),
      reload: async () => {
        seen.push(await it.text());
        return UNCHANGED;
      },
    });
    const result = await it.pick('default', 'b');
    const edited = PLAIN.replace('default = "a"', 'default = "b"');
    assert.deepEqual(seen, [edited, PLAIN, edited]);
    assert.deepEqual(it.log, ['check', 'reload']);
    assert.equal(await it.text(), edited);
    assert.deepEqual(result, { report: UNCHANGED, etag: await it.etag() });
    assert.deepEqual(await it.litter(), []);
  });

  test('that is in the file already is neither checked nor written, but reloaded', async () => {
    await using it = await subject();
    await chmod(it.folder, 0o500);
    const before = await it.etag();
    assert.deepEqual(await it.pick('default', 'a'), { report: UNCHANGED, etag: before });
    assert.deepEqual(it.log, ['reload']);
    await chmod(it.folder, 0o700);
  });

  test('that is in the file in another spelling is checked and written', async () => {
    await using it = await subject({ config: PLAIN.replace('"a" #', "'a' #") });
    await it.pick('default', 'a');
    assert.deepEqual(it.log, ['check', 'reload']);
    assert.equal(await it.text(), PLAIN);
  });

  test('of a group and of the default of a subscribe file is written to [subscribe.routes]', async () => {
    await using it = await subject({ config: SUBSCRIBED });
    await it.pick('Video Streaming', 'n');
    await it.pick('default', 'direct');
    assert.equal(
      await it.text(),
      `${SUBSCRIBED}\n[subscribe.routes]\n"Video Streaming" = "n"\ndefault = "direct"\n`,
    );
  });

  test('that another process does not let write fails as it would without that, or says so', async () => {
    await using it = await subject({ lockMs: 0 });
    await using _held = await lockEdited(it.path, {});
    const etag = await it.etag();
    await fails(it.pick('none', 'b'), { code: 'unknown_group', message: /"none"/ });
    await fails(it.pick('default', 'none'), { code: 'invalid', message: /"none"/ });
    await fails(it.pick('default', 'b', { kind: 'is', etag: '"0"' }), {
      code: 'stale',
      message: /has changed/,
      etag,
    });
    assert.deepEqual(await it.pick('default', 'a'), { report: UNCHANGED, etag });
    await fails(it.pick('default', 'b'), { code: 'failed', message: /is changing/ });
    assert.equal(await it.text(), PLAIN);
  });

  test('waits for the one before it, whose lock spans its reload', async () => {
    const reload = Promise.withResolvers<void>();
    let held = true;
    await using it = await subject({
      reload: async () => {
        if (held) await reload.promise;
        held = false;
        return UNCHANGED;
      },
    });
    const first = it.pick('default', 'b');
    while (!it.log.includes('reload')) await turn();
    const second = it.pick('default', 'direct');
    for (let i = 0; i < 20; i++) await turn();
    assert.deepEqual(it.log, ['check', 'reload']);
    reload.resolve();
    await first;
    await second;
    assert.deepEqual(it.log, ['check', 'reload', 'check', 'reload']);
    assert.match(await it.text(), /default = "direct"/);
  });

  test('through a symbolic link replaces the file behind it and keeps its permissions', async () => {
    await using it = await subject();
    const link = join(it.folder, 'link.toml');
    await symlink('weir.toml', link);
    await chmod(it.path, 0o640);
    const picker = new Picker(configurationAt(link), async () => UNCHANGED);
    await picker.pick('default', 'b', { kind: 'any' }, new AbortController().signal);
    assert.match(await it.text(), /default = "b" # mine/);
    assert.equal((await stat(it.path)).mode & 0o777, 0o640);
    assert.deepEqual(await it.litter(), ['link.toml']);
  });

  test('of the built-in configuration has no file to go to', async () => {
    const picker = new Picker(configurationAt(undefined), async () => UNCHANGED);
    const { view } = await picker.routes();
    await fails(
      picker.pick(
        'default',
        view.targets.find(({ kind }) => kind === 'blackhole')?.name ?? '',
        { kind: 'any' },
        new AbortController().signal,
      ),
      { code: 'failed', message: 'the built-in configuration has no file to write to' },
    );
  });
});

describe('If-Match', () => {
  test('lets the edit of the file that it names through', async () => {
    await using it = await subject();
    await it.pick('default', 'b', is(await it.etag()));
    assert.deepEqual(it.log, ['check', 'reload']);
  });

  test('that names another file is stale before any name is looked at', async () => {
    await using it = await subject();
    for (const etag of ['""', (await it.etag()).toUpperCase(), `"${'0'.repeat(64)}"`]) {
      await failsUntouched(it, it.pick('nobody', 'nowhere', is(etag)), {
        code: 'stale',
        message: `the config file has changed since it was read; its ETag is now ${await it.etag()}`,
        etag: await it.etag(),
      });
    }
    assert.deepEqual(it.log, []);
  });

  test('of two edits of one file at once lets one through, and the other can retry', async () => {
    await using it = await subject();
    const etag = await it.etag();
    const [first, second] = await Promise.allSettled([
      it.pick('default', 'b', is(etag)),
      it.pick('default', 'direct', is(etag)),
    ]);
    assert.equal(first.status, 'fulfilled');
    assert.ok(second.status === 'rejected' && second.reason instanceof ControlError);
    assert.equal(second.reason.code, 'stale');
    assert.equal(second.reason.etag, await it.etag());
    await it.pick('default', 'direct', is(second.reason.etag ?? ''));
    assert.match(await it.text(), /default = "direct"/);
  });
});

describe('a failure', () => {
  test('to read the configuration leaves nothing behind, and is prefixed with the path', async () => {
    await using it = await subject();
    await rm(it.path);
    const expected = { code: 'failed', message: `${it.path}: no such file or directory` };
    await fails(it.pick('default', 'b'), expected);
    await fails(it.picker.routes(), expected);
    assert.deepEqual(await it.litter(), []);
  });

  test('to read the subscribe file leaves the file untouched', async () => {
    await using it = await subject({ config: SUBSCRIBED });
    await rm(it.nodes);
    const message = `${it.path}: subscribe file ${it.nodes}: no such file or directory`;
    await failsUntouched(it, it.pick('default', 'a'), { code: 'failed', message });
    await fails(it.picker.routes(), { code: 'failed', message });
  });

  test('to say which subscribe file leaves the file untouched', async () => {
    await using it = await subject({ config: '[subscribe]\n' });
    const message = `${it.path}: [subscribe] needs a path naming the subscribe file`;
    await failsUntouched(it, it.pick('default', 'a'), { code: 'invalid', message });
    await fails(it.picker.routes(), { code: 'invalid', message });
  });

  test('to parse either file leaves the file untouched and has no prefix', async () => {
    await using it = await subject({ config: `${SUBSCRIBED}=` });
    const message = /^TOML parse error at line 6, column 1\n/;
    await failsUntouched(it, it.pick('default', 'a'), { code: 'invalid', message });
    await writeFile(it.path, SUBSCRIBED);
    await writeFile(it.nodes, 'colour = 1');
    await failsUntouched(it, it.pick('default', 'a'), {
      code: 'invalid',
      message: /^(?!.*weir\.toml).*TOML parse error at line 1, column 1\n/s,
    });
  });

  test('to know the group comes before one to know the target', async () => {
    await using it = await subject({ config: SUBSCRIBED });
    await failsUntouched(it, it.pick('nobody', 'nowhere'), {
      code: 'unknown_group',
      message: 'no route group named "nobody"',
    });
    await failsUntouched(it, it.pick('Video Streaming', 'nowhere'), {
      code: 'invalid',
      message: 'no node, outbound or balancer is named "nowhere"; the route view lists them',
    });
    assert.deepEqual(it.log, []);
  });

  test('to know any group but the default is that of every file without [subscribe]', async () => {
    await using it = await subject();
    await failsUntouched(it, it.pick('Video Streaming', 'a'), {
      code: 'unknown_group',
      message: 'no route group named "Video Streaming"',
    });
  });

  const checkFailures: readonly [what: string, error: Error, code: string][] = [
    ['a configuration that is refused', new ConfigError('invalid', 'names a balancer'), 'invalid'],
    ['a build that fails', new ApplyError('build_failed', 'outbound a: no'), 'invalid'],
    ['a file that it cannot read', new ConfigError('io', 'cannot read x: gone'), 'failed'],
    ['anything else', new RangeError('odd'), 'failed'],
  ];
  for (const [what, error, code] of checkFailures) {
    test(`of the check by ${what} leaves the file untouched`, async () => {
      await using it = await subject({ check: () => Promise.reject(error) });
      await failsUntouched(it, it.pick('default', 'b'), { code, message: error.message });
      assert.deepEqual(it.log, ['check']);
    });
  }

  test('by a change during the check is stale, and keeps what was written meanwhile', async () => {
    const mine = `${PLAIN}# an editor was here\n`;
    await using it = await subject({ check: () => writeFile(it.path, mine) });
    const now = etagOf(Buffer.from(mine));
    await fails(it.pick('default', 'b'), {
      code: 'stale',
      message: `the config file has changed since it was read; its ETag is now ${now}`,
      etag: now,
    });
    assert.equal(await it.text(), mine);
    assert.deepEqual(it.log, ['check']);
  });

  test('to read the file again after the check is reported without its name', async () => {
    await using it = await subject({ check: () => rm(it.path) });
    await fails(it.pick('default', 'b'), { code: 'failed', message: 'no such file or directory' });
    assert.deepEqual([it.log, await it.litter()], [['check'], []]);
  });

  for (const step of [
    'realpath',
    'attributesOf',
    'create',
    'write',
    'chown',
    'chmod',
    'sync',
    'close',
    'rename',
  ]) {
    test(`at ${step} of the write leaves the file untouched and nothing beside it`, async () => {
      await using it = await subject({ fs: failingAt(step as Step) });
      await failsUntouched(it, it.pick('default', 'b'), {
        code: 'failed',
        message: `writing ${it.path}: ${step} failed`,
      });
      assert.deepEqual(it.log, ['check']);
    });
  }

  test('to sync the folder is reported, although the file has been replaced', async () => {
    await using it = await subject({ fs: failingAt('syncFolder') });
    await fails(it.pick('default', 'b'), {
      code: 'failed',
      message: `writing ${it.path}: syncFolder failed`,
    });
    assert.match(await it.text(), /default = "b"/);
    assert.deepEqual(await it.litter(), []);
  });

  test('to find a temporary name is reported with the name and the folder', async () => {
    const taken = Object.assign(new Error('taken'), { code: 'EEXIST' });
    await using it = await subject({
      fs: watchedFiles((step) => {
        if (step === 'create') throw taken;
      }),
    });
    await failsUntouched(it, it.pick('default', 'b'), {
      code: 'failed',
      message: `writing ${it.path}: no free temporary name for weir.toml in ${it.folder}`,
    });
  });

  const reloadFailures: readonly [what: string, error: Error, code: string][] = [
    ['that is refused', new ApplyError('disruptive', 'inbound q: no'), 'invalid'],
    ['that cannot bind', new ApplyError('bind', 'inbound s: in use'), 'failed'],
    ['of a process that stops', new ApplyError('stopped', 'stopping'), 'failed'],
    ['that the reloader has reported', new ControlError('invalid', 'reported before'), 'invalid'],
  ];
  for (const [what, error, code] of reloadFailures) {
    test(`of a reload ${what} keeps the new pick and gives its tag`, async () => {
      await using it = await subject({ reload: () => Promise.reject(error) });
      const edited = PLAIN.replace('default = "a"', 'default = "b"');
      const etag = etagOf(Buffer.from(edited));
      await fails(it.pick('default', 'b'), { code, message: error.message, etag });
      assert.equal(await it.text(), edited);
    });
  }

  test('at any step lets the next edit in', async () => {
    let failing = true;
    await using it = await subject({
      check: async () => {
        if (failing) throw new RangeError('odd');
      },
    });
    await fails(it.pick('default', 'b'), { code: 'failed', message: 'odd' });
    failing = false;
    await it.pick('default', 'b');
    assert.match(await it.text(), /default = "b"/);
  });
});

describe('a client that disconnects', () => {
  const reason = new Error('the client has gone');

  test('while its edit waits for the lock leaves the file untouched', async () => {
    const reload = Promise.withResolvers<void>();
    await using it = await subject({ reload: () => reload.promise.then(() => UNCHANGED) });
    const first = it.pick('default', 'b');
    while (!it.log.includes('reload')) await turn();
    const client = new AbortController();
    const second = it.pick('default', 'direct', { kind: 'any' }, client.signal);
    client.abort(reason);
    await assert.rejects(second, reason);
    reload.resolve();
    await first;
    assert.match(await it.text(), /default = "b"/);
    assert.deepEqual(it.log, ['check', 'reload']);
  });

  test('during the check leaves the file untouched and lets the next edit in at once', async () => {
    const stuck = Promise.withResolvers<void>();
    let first = true;
    await using it = await subject({
      check: async () => {
        if (!first) return;
        first = false;
        await stuck.promise;
      },
    });
    const client = new AbortController();
    const gone = it.pick('default', 'b', { kind: 'any' }, client.signal);
    while (!it.log.includes('check')) await turn();
    client.abort(reason);
    await assert.rejects(gone, reason);
    assert.equal(await it.text(), PLAIN);
    await it.pick('default', 'direct');
    stuck.resolve();
    for (let i = 0; i < 20; i++) await turn();
    assert.match(await it.text(), /default = "direct"/);
    assert.deepEqual(await it.litter(), []);
  });

  for (const step of ['realpath', 'create', 'write', 'rename', 'syncFolder'] as const) {
    test(`at ${step} of the write finds it finished all the same`, async () => {
      const client = new AbortController();
      const fs = watchedFiles((at) => {
        if (at === step) client.abort(reason);
      });
      await using it = await subject({ fs });
      await assert.rejects(it.pick('default', 'b', { kind: 'any' }, client.signal), reason);
      assert.match(await it.text(), /default = "b"/);
      assert.deepEqual(await it.litter(), []);
    });
  }

  test('during the reload keeps the pick and lets the next edit in at once', async () => {
    let first = true;
    await using it = await subject({
      reload: async () => {
        if (!first) return UNCHANGED;
        first = false;
        return new Promise<ReloadReport>(() => undefined);
      },
    });
    const client = new AbortController();
    const gone = it.pick('default', 'b', { kind: 'any' }, client.signal);
    while (!it.log.includes('reload')) await turn();
    client.abort(reason);
    await assert.rejects(gone, reason);
    assert.match(await it.text(), /default = "b"/);
    await it.pick('default', 'direct');
    assert.match(await it.text(), /default = "direct"/);
  });
});

function failingAt(failing: Step): ReplaceFileSystem {
  return watchedFiles((step) => {
    if (step === failing) throw new Error(`${step} failed`);
  });
}
