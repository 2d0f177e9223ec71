import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { circlesIn } from '../../tools/architecture/circles.ts';
import { readImports, roomOf, sourceFiles, sourceText } from '../../tools/architecture/imports.ts';
import { floorOf } from '../../tools/architecture/layers.ts';

/** Protocol cores: a test gives them time, randomness and ciphers. */
const PURE = [
  /^(quic|http\/(http2|http3|fields)|netstack|congestion)\//,
  /^protocols\/.+\/wire\.ts$/,
  /^protocols\/wireguard\/(handshake\/.*|contract|deadlines|message-writer|peer-liveness|transport-session|tunnel|waiting-packets)\.ts$/,
  /^mux\/frame(-decoder)?\.ts$/,
  /^engine\/router\//,
];

/** In the folder of a pure core, but it runs the core on a link, and yields to the event loop. */
const HTTP2_DRIVER = 'http/http2/http2-driver.ts';

/** What a pure core must not import: Node but for pure functions of it, and the clock. */
const IMPURE = /^node:(?!url$)|^(\.\.?\/)+(net\/)?(time\/)?clock\.ts$/;

/** A folder of `protocols/` is one protocol, but for these, which hold what several share. */
const SHARED_BY_PROTOCOLS = new Set(['forms', 'inbounds', 'outbounds', 'users']);

/** Imports every protocol, so none may import it. */
const REGISTRY = 'proxy/protocols/registry.ts';

test('every source file belongs to a floor', async () => {
  for (const path of await sourceFiles()) assert.ok(floorOf(path) >= 0, path);
});

test('imports point down', async () => {
  const upward = (await readImports()).filter(
    ({ from, to }) => roomOf(from) !== roomOf(to) && floorOf(to) >= floorOf(from),
  );
  assert.deepEqual(upward, []);
});

test('no files import each other in a circle, not even for types', async () => {
  assert.deepEqual(circlesIn(await readImports()), []);
});

/** Files that a reader still takes in at a glance. */
const MAX_FILES_IN_FOLDER = 24;

test('no folder is a drawer', async () => {
  const folders = Map.groupBy(await sourceFiles(), (path) => dirname(path));
  for (const [folder, files] of folders) {
    assert.ok(files.length <= MAX_FILES_IN_FOLDER, `src/${folder} holds ${files.length} files`);
  }
});

test('pure cores import neither Node nor the clock', async () => {
  const impure: string[] = [];
  for (const path of await sourceFiles()) {
    if (path === HTTP2_DRIVER || !PURE.some((pattern) => pattern.test(path))) continue;
    const source = sourceText(path);
    for (const [, target = ''] of source.matchAll(/^import (?!type )[^;]*from '([^']+)'/gm)) {
      if (IMPURE.test(target)) impure.push(`${path} imports ${target}`);
    }
    if (
      /\b(setTimeout|setInterval|setImmediate|performance\.now|Date\.now|Math\.random)\b/.test(
        source,
      )
    ) {
      impure.push(`${path} reads the clock, starts a timer or takes random numbers by itself`);
    }
  }
  assert.deepEqual(impure, []);
});

test('protocols do not import each other', async () => {
  const protocolOf = (file: string): string | undefined => {
    const folder = /^protocols\/([^/]+)\//.exec(file)?.[1];
    return folder === undefined || SHARED_BY_PROTOCOLS.has(folder) ? undefined : folder;
  };
  const crossing = (await readImports()).filter(({ from, to }) => {
    if (roomOf(from) !== 'protocols' || from === REGISTRY) return false;
    const imported = protocolOf(to);
    return to === REGISTRY || (imported !== undefined && imported !== protocolOf(from));
  });
  assert.deepEqual(crossing, []);
});

test('WireGuard does not import QUIC', async () => {
  const crossing = (await readImports()).filter(
    ({ from, to }) => from.startsWith('protocols/wireguard/') && roomOf(to) === 'quic',
  );
  assert.deepEqual(crossing, []);
});
