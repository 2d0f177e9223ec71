import assert from 'node:assert/strict';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { type Config, ConfigError, ControlError, Weir, type LogLine } from '../../../src/index.ts';
import { disposable } from '../../../../../test/support/data/address.ts';
import { freedom, socksIn } from '../../../../../test/support/process/config.ts';
import { roundTrip } from '../../../../../test/support/read.ts';
import { bannerServer, echoServer } from '../../../../../test/support/peers/servers.ts';
import { socksConnect } from '../../../../../test/support/peers/socks-client.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';

const TEXT = socksIn() + freedom('direct') + freedom('other');
const NODES =
  '[[route_group]]\nname = "Video"\n[[proxy_server]]\nname = "tokyo"\nprotocol = "freedom"\n';

const socks = (port = 0) => ({ tag: 'socks', protocol: 'socks', port }) as const;
const direct = (tag = 'direct') => ({ tag, protocol: 'freedom' }) as const;
const TABLES = { inbound: [socks()], outbound: [direct(), direct('other')] };

/** The error of a call. */
async function failureOf(work: Promise<unknown>): Promise<ControlError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ControlError, String(error));
  return error;
}

/** Starts from a value of any type, as a program in JavaScript can. */
const startAny = (...given: readonly unknown[]): Promise<Weir> =>
  (Weir.start as (...options: readonly unknown[]) => Promise<Weir>)(...given);

function listenerOf(weir: Weir, tag = 'socks') {
  const found = weir.listeners().find((listener) => listener.tag === tag);
  return found ?? assert.fail(`no listener ${tag}`);
}

async function moveBytes(weir: Weir): Promise<void> {
  await using echo = await echoServer();
  const { address, port } = listenerOf(weir);
  using socket = disposable(await socksConnect({ host: address, port: port ?? 0 }, echo.target));
  await roundTrip(socket, 'hello');
}

describe('Weir.start with other options', () => {
  const cases: readonly (readonly [name: string, options: object, message: RegExp])[] = [
    [
      'a misspelt hook',
      { authorise: () => false },
      /^Weir\.start has no option authorise; its opt/,
    ],
    [
      'a hook that is no function',
      { authorize: 'ann' },
      /authorize is a value of type string; give/,
    ],
    ['null as a hook', { route: null }, /^Weir\.start: route is null; give a function$/],
    [
      'an onLog that is no function',
      { onLog: 'x' },
      /onLog is a value of type string; give a func/,
    ],
    [
      'a level of another type',
      { logLevel: 5 },
      /logLevel is a value of type number; give a string/,
    ],
    [
      'a time limit of another type',
      { hookTimeoutMs: '5' },
      /hookTimeoutMs is a value of type stri/,
    ],
    ['a time limit of 0', { hookTimeoutMs: 0 }, /^hookTimeoutMs must be positive$/],
    ['no pending calls', { maxPendingHooks: Number.NaN }, /^maxPendingHooks must be positive$/],
  ];
  for (const [name, options, message] of cases) {
    test(`is an error: ${name}`, async () => {
      const error = await failureOf(startAny({ config: TABLES, ...options }));
      assert.equal(error.code, 'invalid');
      assert.match(error.message, message);
    });
  }

  test('takes options that are undefined as absent', async () => {
    await using weir = await startAny({ config: TABLES, onLog: undefined, authorize: undefined });
    assert.equal(weir.listeners().length, 1);
  });

  test('does not stop on a grace period that is no number of 0 or more', async () => {
    await using weir = await Weir.start({ config: TABLES });
    for (const graceMs of [Number.NaN, -1, 'soon' as unknown as number]) {
      await assert.rejects(weir.stop({ graceMs }), RangeError);
    }
    assert.equal(weir.stopping, false);
    assert.equal(weir.listeners().length, 1);
  });

  test('does not warn a program without listeners, which may only dial', async () => {
    const lines: LogLine[] = [];
    const config = { outbound: [direct()] };
    await using weir = await Weir.start({ config, onLog: (line) => void lines.push(line) });
    assert.deepEqual(weir.listeners(), []);
    assert.ok(lines.every(({ message }) => !message.includes('no inbound')));
  });
});

describe('Weir.start without a configuration', () => {
  const cases: readonly (readonly [name: string, given: readonly unknown[], message: RegExp])[] = [
    ['nothing', [], /^Weir\.start takes an object such as \{ config: 'weir\.toml' \}/],
    ['null', [null], /^Weir\.start takes an object/],
    ['a path alone', ['weir.toml'], /^Weir\.start takes an object/],
    ['no config', [{}], /^Weir\.start: config is missing; give the path of a file, \{ text \}/],
    ['an empty path', [{ config: '' }], /: config is empty; give the path/],
    ['null as config', [{ config: null }], /: config is null; give the path/],
    ['a number', [{ config: 1080 }], /: config is a value of type number; give/],
    ['a list', [{ config: [] }], /: config is a list; give/],
    [
      'a text of bytes',
      [{ config: { text: Buffer.from('') } }],
      /config\.text is a value of type object; give TOML/,
    ],
    [
      'a directory that is none',
      [{ config: { text: '', directory: 1 } }],
      /config\.directory is a value of type number/,
    ],
    [
      'tables beside a text',
      [{ config: { text: '', inbound: [] } }],
      /only directory is allowed, not inbound$/,
    ],
    [
      'a file URL',
      [{ config: new URL('file:///weir.toml') }],
      /^the configuration: an object of the class URL is not a value/,
    ],
  ];
  for (const [name, given, message] of cases) {
    test(`is invalid: ${name}`, async () => {
      const error = await failureOf(startAny(...given));
      assert.equal(error.code, 'invalid');
      assert.match(error.message, message);
    });
  }
});

describe('a configuration as text', () => {
  test('is served, and picks stay in memory', async () => {
    await using weir = await Weir.start({ config: { text: TEXT } });
    await moveBytes(weir);
    const { etag, view } = await weir.routes();
    assert.deepEqual(view.default, { pick: null, target: 'direct', in_memory: false });
    const error = await failureOf(weir.pick('default', 'other', { persist: true }));
    assert.match(error.message, /^the configuration is not a file/);
    await weir.pick('default', 'other', { ifMatch: etag });
    const after = await weir.routes();
    assert.deepEqual(after.view.default, { pick: 'other', target: 'other', in_memory: true });
    await moveBytes(weir);
    assert.deepEqual(await weir.reload(), { status: 'unchanged' });
  });

  test('has errors with line and column', async () => {
    const error = await failureOf(Weir.start({ config: { text: `${TEXT}[log]\ncolour = 1\n` } }));
    assert.equal(error.code, 'invalid');
    const line = TEXT.split('\n').length + 1;
    assert.match(error.message, new RegExp(`^TOML parse error at line ${line}, column 1\n`));
    assert.ok(error.cause instanceof ConfigError);
    assert.deepEqual(error.cause.location, { file: undefined, line, column: 1 });
  });

  test('reads files relative to its directory', async () => {
    await using folder = await scratch();
    await mkdir(join(folder.path, 'lists'));
    await writeFile(join(folder.path, 'lists/nodes.toml'), NODES);
    const text = `${TEXT}[subscribe]\npath = "lists/nodes.toml"\n`;
    await using weir = await Weir.start({ config: { text, directory: folder.path } });
    const { view } = await weir.routes();
    assert.deepEqual(
      view.groups.map(({ name }) => name),
      ['Video'],
    );
    assert.deepEqual(await weir.reload(), { status: 'unchanged' });
    await writeFile(
      join(folder.path, 'lists/nodes.toml'),
      `${NODES}[[route_group]]\nname = "Music"\n`,
    );
    assert.equal((await weir.reload()).status, 'applied');
    const dns = `[dns]\nserver = "udp://127.0.0.1"\nca_file = "none.pem"\n`;
    const missing = { text: TEXT + dns, directory: folder.path };
    const error = await failureOf(weir.reload({ config: missing }));
    assert.match(error.message, /none\.pem: no such file or directory/);
    assert.equal((await weir.routes()).view.groups.length, 2, 'the previous text stays in force');
  });

  test('is replaced by another text, an object or a file', async () => {
    await using folder = await scratch();
    const path = join(folder.path, 'weir.toml');
    await writeFile(path, socksIn('file') + freedom());
    await using weir = await Weir.start({ config: { text: TEXT } });
    const tags = (): readonly string[] => weir.listeners().map(({ tag }) => tag);
    const changes = weir.listenerEvents();
    const { port } = listenerOf(weir);
    const report = await weir.reload({ config: { text: socksIn('more') + TEXT } });
    assert.equal(report.status, 'applied');
    assert.deepEqual((await changes.next()).value, weir.listeners());
    assert.deepEqual(tags(), ['more', 'socks']);
    assert.equal(listenerOf(weir).port, port, 'a listener that did not change keeps its port');

    await failureOf(weir.reload({ config: { text: 'nonsense' } }));
    assert.deepEqual(await weir.reload(), { status: 'unchanged' });
    await weir.reload({ config: TABLES });
    assert.deepEqual(tags(), ['socks']);
    await weir.reload({ config: path });
    assert.deepEqual(tags(), ['file']);
    await writeFile(path, socksIn('edited') + freedom());
    await weir.reload();
    assert.deepEqual(tags(), ['edited']);
    await weir.stop();
    assert.deepEqual(weir.listeners(), []);
    changes.close();
  });
});

describe('a configuration as an object', () => {
  test('is served, and [api] in it is not', async () => {
    const lines: LogLine[] = [];
    const onLog = (line: LogLine): void => void lines.push(line);
    const api = { listen: 'nonsense', colour: 1 };
    await using weir = await Weir.start({ config: { ...TABLES, api }, onLog });
    await moveBytes(weir);
    const ignored = lines.filter(({ message }) => message.startsWith('[api] is not served here'));
    assert.equal(ignored.length, 1);
  });

  const cases: readonly (readonly [object, string, RegExp])[] = [
    [
      { inbound: [{ ...socks(), port: '80' }] },
      'inbound[0].port',
      /^inbound\[0\]\.port: invalid type: string "80", expected u16$/,
    ],
    [
      { ...TABLES, inbounds: [] },
      'inbounds',
      /^inbounds: unknown field `inbounds`, expected one of/,
    ],
    [
      { inbound: [socks(), { tag: 'x', protocol: 'socks' }], outbound: [direct()] },
      'inbound[1]',
      /^port is required$/,
    ],
    [
      { ...TABLES, log: { level: null } },
      'log.level',
      /^log\.level: null is not a value of a configuration/,
    ],
    [
      { ...TABLES, log: { level: () => 'x' } },
      'log.level',
      /^log\.level: a function is not a value/,
    ],
    [
      { ...TABLES, 'odd key': new Map() },
      '"odd key"',
      /^"odd key": an object of the class Map is not/,
    ],
    [{ outbound: [direct(), direct()] }, 'outbound[1].tag', /^duplicate outbound tag: direct$/],
    [{ ...TABLES, route: { default: '\u{d800}' } }, 'route.default', /half of a surrogate pair$/],
  ];
  for (const [tables, path, message] of cases) {
    test(`has errors with the key path: ${path}, ${message.source}`, async () => {
      const error = await failureOf(startAny({ config: tables }));
      assert.equal(error.code, 'invalid');
      assert.match(error.message, message);
      assert.ok(error.cause instanceof ConfigError);
      assert.equal(error.cause.location?.path, path);
    });
  }

  test('has the hint of the file, with key paths in place of lines', async () => {
    const twice = await failureOf(startAny({ config: { outbound: [direct(), direct()] } }));
    assert.equal(twice.hint, 'the first "direct" is at outbound[0].tag');
    const unknown = { ...TABLES, inbound: [{ ...socks(), porf: 1 }] };
    assert.equal((await failureOf(startAny({ config: unknown }))).hint, 'did you mean `port`?');
  });

  test('that contains itself, or is nested deeply, is invalid', async () => {
    const loop: Record<string, unknown> = { ...TABLES };
    loop['route'] = loop;
    assert.match(
      (await failureOf(startAny({ config: loop }))).message,
      /^route: the object contains itself$/,
    );
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level++) deep = { a: deep };
    assert.match((await failureOf(startAny({ config: { deep } }))).message, /: nested too deeply$/);
  });

  test('is copied: what the program does to it later changes nothing', async () => {
    const tables = { inbound: [socks()], outbound: [direct()] };
    await using weir = await Weir.start({ config: tables });
    tables.outbound.splice(0);
    await weir.reload();
    await moveBytes(weir);
  });
});

describe('a pick in memory', () => {
  async function grouped() {
    const folder = await scratch();
    const path = join(folder.path, 'weir.toml');
    const text = `${TEXT}[subscribe]\npath = "nodes.toml"\n[subscribe.routes]\nVideo = "other"\n`;
    await writeFile(join(folder.path, 'nodes.toml'), NODES);
    await writeFile(path, text);
    const lines: LogLine[] = [];
    return {
      path,
      text,
      lines,
      start: () => Weir.start({ config: path, onLog: (line) => lines.push(line) }),
      left: () => readdir(folder.path),
      [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
    };
  }
  const video = async (weir: Weir) => {
    const [group] = (await weir.routes()).view.groups;
    return group && { pick: group.pick, target: group.target, in_memory: group.in_memory };
  };
  const MEMORY = { pick: 'tokyo', target: 'tokyo', in_memory: true };
  const FILE = { pick: 'other', target: 'other', in_memory: false };

  test('leaves the file alone, survives reloads of it, and ends with the process', async () => {
    await using it = await grouped();
    {
      await using weir = await it.start();
      assert.deepEqual(await video(weir), FILE);
      const { report } = await weir.pick('Video', 'tokyo', { persist: false });
      assert.equal(report.status, 'applied');
      assert.deepEqual(await video(weir), MEMORY);
      await writeFile(it.path, `# more\n${it.text}`);
      await weir.reload();
      assert.deepEqual(await video(weir), MEMORY);
      assert.equal(await readFile(it.path, 'utf8'), `# more\n${it.text}`);
      assert.deepEqual((await it.left()).toSorted(), ['nodes.toml', 'weir.toml']);
    }
    await using again = await it.start();
    assert.deepEqual(await video(again), FILE);
  });

  test('ends when a reload removes its target, or a pick is written for the group', async () => {
    await using it = await grouped();
    await using weir = await it.start();
    await weir.pick('Video', 'tokyo', { persist: false });
    await weir.pick('Video', 'other');
    assert.deepEqual(await video(weir), FILE);
    await weir.pick('default', 'other', { persist: false });
    await weir.pick('Video', 'tokyo', { persist: false });
    await writeFile(it.path, it.text.replace('[subscribe]', '# ').split('# ')[0] ?? '');
    await weir.reload();
    const message =
      'the pick in memory of "tokyo" for "Video" has ended: one of them no longer exists';
    assert.equal(it.lines.filter((line) => line.message === message).length, 1);
    const { view } = await weir.routes();
    assert.deepEqual(view.default, { pick: 'other', target: 'other', in_memory: true });
    await writeFile(it.path, it.text);
    await weir.reload();
    assert.deepEqual(await video(weir), FILE);
  });

  test('is refused as a pick of the file is', async () => {
    await using it = await grouped();
    await using weir = await it.start();
    const code = async (work: Promise<unknown>) => (await failureOf(work)).code;
    const persist = false;
    assert.equal(await code(weir.pick('x', 'direct', { persist })), 'unknown_group');
    assert.equal(await code(weir.pick('Video', 'x', { persist })), 'invalid');
    assert.equal(await code(weir.pick('Video', 'tokyo', { persist, ifMatch: '"x"' })), 'stale');
    const signal = AbortSignal.abort(new Error('changed my mind'));
    await assert.rejects(weir.pick('Video', 'tokyo', { persist, signal }), /changed my mind/);
    assert.deepEqual(await video(weir), FILE);
  });
});

describe('listeners', () => {
  test('have the address of each inbound in the order of the configuration', async () => {
    await using folder = await scratch();
    const path = join(folder.path, 'socket');
    const settings = { method: 'aes-128-gcm', password: 'secret' };
    const inbound: Config['inbound'] = [
      { tag: 'unix', protocol: 'http', listen: path },
      { tag: 'v6', protocol: 'http', listen: '::1', port: 0 },
      { tag: 'ss', protocol: 'shadowsocks', port: 0, settings },
    ];
    await using weir = await Weir.start({ config: { inbound, outbound: [direct()] } });
    const [unix, v6, both] = weir.listeners();
    const networks = ['unix'];
    assert.deepEqual(unix, { tag: 'unix', protocol: 'http', networks, address: path, port: null });
    assert.deepEqual([v6?.address, v6?.networks], ['::1', ['tcp']]);
    assert.deepEqual(both?.networks, ['tcp', 'udp']);
    assert.ok(both.port !== null && both.port > 0);
  });

  test('are told after a reload that changes them, and not after one that does not', async () => {
    await using weir = await Weir.start({ config: TABLES });
    await using changes = weir.listenerEvents();
    const next = changes.next();
    await weir.reload({ config: { ...TABLES, log: { level: 'off' } } });
    await using free = await bannerServer('x');
    await free[Symbol.asyncDispose]();
    await weir.reload({ config: { ...TABLES, inbound: [socks(free.port)] } });
    const { value } = await next;
    assert.deepEqual(
      value?.map(({ port }) => port),
      [free.port],
    );
    await weir.stop();
    assert.equal((await changes.next()).done, true);
  });
});
