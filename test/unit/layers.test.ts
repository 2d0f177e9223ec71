import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';

const SRC = join(import.meta.dirname, '../../src');

/** From the bottom up; a file may import its own layer and those before it. */
const LAYERS: readonly (readonly string[])[] = [
  ['errors.ts', 'printable.ts', 'version.ts', 'collections', 'ip'],
  ['schema', 'log', 'platform'],
  ['crypto', 'net'],
  ['congestion'],
  ['netstack'],
  ['quic'],
  ['http'],
  ['spec.ts'],
  ['transports', 'mux', 'tracker', 'dns'],
  ['protocols'],
  ['engine'],
  ['config', 'supervisor'],
  ['api', 'import'],
  ['app'],
  ['cli', 'library'],
  ['main.ts', 'index.ts'],
];

/** Folders of one layer that must not import each other. */
const SIBLINGS = new Set(['config', 'supervisor']);

/** Protocol cores: a test gives them time, randomness and ciphers. */
const PURE = [
  /^(quic|http\/(http2|http3|fields)|netstack|congestion)\//,
  /^protocols\/.+\/wire\.ts$/,
  /^protocols\/wireguard\/(handshake\/.*|contract|deadlines|message-writer|peer-liveness|transport-sessions?|tunnel|tunnel-status|waiting-packets)\.ts$/,
  /^mux\/frame(-decoder)?\.ts$/,
  /^engine\/router\//,
];

/** In the folder of a pure core, but it runs the core on a link, and yields to the event loop. */
const HTTP2_DRIVER = 'http/http2/http2-driver.ts';

/** What a pure core must not import: Node but for pure functions of it, and the clock. */
const IMPURE = /^node:(?!url$)|^(\.\.?\/)+(net\/)?(time\/)?clock\.ts$/;

/** A folder of `protocols/` is one protocol, but for these, which hold what several share. */
const SHARED_BY_PROTOCOLS = new Set(['inbounds', 'outbounds', 'users']);

/** Imports every protocol, so none may import it. */
const REGISTRY = 'protocols/registry.ts';

const roomOf = (file: string): string => file.split('/')[0] ?? file;
const rankOf = (file: string): number => LAYERS.findIndex((rooms) => rooms.includes(roomOf(file)));

async function imports(): Promise<{ from: string; to: string }[]> {
  const found: { from: string; to: string }[] = [];
  for await (const path of glob('**/*.ts', { cwd: SRC })) {
    const source = readFileSync(join(SRC, path), 'utf8');
    for (const [, target = ''] of source.matchAll(/from '(\.[^']+)'|import\('(\.[^']+)'\)/g)) {
      found.push({ from: path, to: relative(SRC, join(SRC, dirname(path), target)) });
    }
  }
  return found;
}

test('every source file belongs to a layer', async () => {
  for await (const path of glob('**/*.ts', { cwd: SRC })) assert.ok(rankOf(path) >= 0, path);
});

test('imports point down', async () => {
  const upward = (await imports()).filter(
    ({ from, to }) =>
      rankOf(to) > rankOf(from) ||
      (SIBLINGS.has(roomOf(from)) && SIBLINGS.has(roomOf(to)) && roomOf(from) !== roomOf(to)),
  );
  assert.deepEqual(upward, []);
});

test('pure cores import neither Node nor the clock', async () => {
  const impure: string[] = [];
  for await (const path of glob('**/*.ts', { cwd: SRC })) {
    if (path === HTTP2_DRIVER || !PURE.some((pattern) => pattern.test(path))) continue;
    const source = readFileSync(join(SRC, path), 'utf8');
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
  const crossing = (await imports()).filter(({ from, to }) => {
    if (roomOf(from) !== 'protocols' || from === REGISTRY) return false;
    const imported = protocolOf(to);
    return to === REGISTRY || (imported !== undefined && imported !== protocolOf(from));
  });
  assert.deepEqual(crossing, []);
});

test('WireGuard does not import QUIC', async () => {
  const crossing = (await imports()).filter(
    ({ from, to }) => from.startsWith('protocols/wireguard/') && roomOf(to) === 'quic',
  );
  assert.deepEqual(crossing, []);
});
