import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { circlesIn } from '../../tools/architecture/circles.ts';
import { STANDALONE } from '../../packaging/standalone.ts';
import { listIn } from '../../tools/architecture/entries.ts';
import {
  packageOf,
  pathOf,
  readImports,
  ROOT,
  roomOf,
  sourceFiles,
  sourceText,
} from '../../tools/architecture/imports.ts';
import { floorOf } from '../../tools/architecture/layers.ts';

/** Protocol cores: a test gives them time, randomness and ciphers. */
const PURE = [
  /^quic\//,
  /^http\/http2\//,
  /^http\/http3\//,
  /^http\/fields\//,
  /^netstack\//,
  /^congestion\//,
  /^proxy\/protocols\/.+\/wire\.ts$/,
  /^proxy\/protocols\/wireguard\/handshake\//,
  /^proxy\/protocols\/wireguard\/contract\.ts$/,
  /^proxy\/protocols\/wireguard\/deadlines\.ts$/,
  /^proxy\/protocols\/wireguard\/transport-session\.ts$/,
  /^proxy\/protocols\/wireguard\/tunnel\.ts$/,
  /^proxy\/mux\/frame\.ts$/,
  /^proxy\/engine\/router\//,
];

/** In the folder of a pure core, but it runs the core on a link, and yields to the event loop. */
const HTTP2_DRIVER = 'http/http2/http2-driver.ts';

/** What the user of a package that stands alone takes from this machine. */
const OF_THE_MACHINE = /^(quic|http|netstack)\/system\.ts$/;

/** Modules that a pure core must not import: Node's but for pure functions of it. */
const IMPURE = /^import (?!type )[^;]*from '(node:(?!url')[^']+)'/gm;

/** The clock, timers and random numbers that a pure core must not take by itself. */
const AMBIENT =
  /\b(systemClock|setTimeout|setInterval|setImmediate|performance\.now|Date\.now|Math\.random)\b/;

/** A folder of `protocols/` is one protocol, but for these, which hold what several share. */
const SHARED_BY_PROTOCOLS = new Set(['forms', 'inbounds', 'outbounds', 'users']);

/** Imports every protocol, so none may import it. */
const REGISTRY = 'proxy/protocols/registry.ts';

/** Types that the compiler infers for what others export. */
const INFERRED = new Set(['DecodedKeys', 'KeyDecoder']);

interface Manifest {
  readonly version: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const PACKAGES = readdirSync(join(ROOT, 'packages'));
const manifestOf = (path: string): Manifest =>
  JSON.parse(readFileSync(join(ROOT, path, 'package.json'), 'utf8')) as Manifest;
const manifests = new Map(PACKAGES.map((name) => [name, manifestOf(`packages/${name}`)]));

/** What a file imports by name: Node's modules left out. */
const namedBy = (file: string): readonly string[] =>
  Array.from(
    sourceText(file).matchAll(
      /^(?:import|export) [^;']*?from '([^.'][^']*)'|(?:import|createRequire\(import\.meta\.url\))\('([^.'][^']*)'\)/gm,
    ),
    ([, named, loaded = '']) => named ?? loaded,
  ).filter((name) => !name.startsWith('node:'));

/** The package of an import, without the entry. */
const ownerOf = (name: string): string =>
  name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/');

describe('a package', () => {
  test('depends on what it imports, and on nothing else', async () => {
    const files = await sourceFiles();
    for (const [name, manifest] of manifests) {
      const { dependencies, devDependencies, peerDependencies } = manifest;
      const used = files.filter((file) => packageOf(file) === name).flatMap(namedBy);
      assert.deepEqual(
        [...new Set(used.map(ownerOf))].sort(),
        Object.keys({ ...dependencies, ...devDependencies, ...peerDependencies }).sort(),
        name,
      );
    }
  });

  test('has the version of Weir, and depends on that of the others', () => {
    const { version } = manifestOf('.');
    for (const [name, { version: own, dependencies = {} }] of manifests) {
      assert.equal(own, version, name);
      for (const [other, wanted] of Object.entries(dependencies)) {
        if (other.startsWith('@weir/')) assert.equal(wanted, version, `${name}: ${other}`);
      }
    }
  });

  test('imports no package that imports it', () => {
    const imports = [...manifests].flatMap(([name, { dependencies = {} }]) =>
      Object.keys(dependencies)
        .filter((other) => other.startsWith('@weir/'))
        .map((other) => ({ from: `@weir/${name}`, to: other })),
    );
    assert.deepEqual(circlesIn(imports), []);
  });

  test('shows what another one imports, and nothing else', async () => {
    const used = new Map<string, Set<string>>();
    for (const file of await sourceFiles()) {
      for (const [, names = '', entry = ''] of sourceText(file).matchAll(
        /^import (?:type )?\{([^}]*)\} from '(@weir\/[^']+)'|import\('@weir\/[^']+'\)/gm,
      )) {
        const known = used.get(entry) ?? new Set();
        used.set(entry, known);
        for (const name of names.split(',')) {
          known.add(/^\s*(?:type )?(\S+)/.exec(name)?.[1] ?? '');
        }
      }
      for (const entry of namedBy(file)) if (!used.has(entry)) used.set(entry, new Set());
    }
    const superfluous: string[] = [];
    for (const [name, { exports }] of manifests) {
      // The library, and what stands alone: others are their users.
      if (name === 'weir' || STANDALONE.some((one) => one === name)) continue;
      for (const [entry, path] of Object.entries(exports)) {
        const full = `@weir/${name}${entry.slice(1)}`;
        const names = used.get(full);
        if (!names) superfluous.push(full);
        const file = join('packages', name, path);
        const listed = listIn(file, readFileSync(join(ROOT, file), 'utf8'));
        for (const one of listed?.keys() ?? []) {
          if (names && !names.has(one) && !INFERRED.has(one)) superfluous.push(`${full}: ${one}`);
        }
      }
    }
    assert.deepEqual(superfluous, []);
  });

  test('names its own files by paths that stay within it', async () => {
    const outside: string[] = [];
    for (const file of await sourceFiles()) {
      for (const [, path = ''] of sourceText(file).matchAll(/(?:from |import\()'(\.[^']+)'/g)) {
        const source = `packages/${packageOf(file)}/src/`;
        if (!join(dirname(pathOf(file)), path).startsWith(source)) outside.push(`${file}: ${path}`);
      }
    }
    assert.deepEqual(outside, []);
  });
});

test('every room of a package with floors is on one of them', async () => {
  const nowhere = (await sourceFiles()).filter(
    (file) => floorOf(file) === -1 && file.split('/').length > 2,
  );
  assert.deepEqual(nowhere, []);
});

test('within a package imports point down', async () => {
  const upward = (await readImports()).filter(({ from, to }) => {
    if (packageOf(from) !== packageOf(to) || roomOf(from) === roomOf(to)) return false;
    const [above, below] = [floorOf(from), floorOf(to)];
    // An entry stands beside the rooms and lists what they export.
    return above !== undefined && above >= 0 && below !== undefined && below >= above;
  });
  assert.deepEqual(upward, []);
});

test('no files import each other in a circle, not even for types', async () => {
  assert.deepEqual(circlesIn(await readImports()), []);
});

test('pure cores import neither Node nor the clock', async () => {
  const impure: string[] = [];
  for (const path of await sourceFiles()) {
    if (path === HTTP2_DRIVER || OF_THE_MACHINE.test(path)) continue;
    if (!PURE.some((pattern) => pattern.test(path))) continue;
    const source = sourceText(path);
    for (const [, target = ''] of source.matchAll(IMPURE)) impure.push(`${path}: ${target}`);
    if (AMBIENT.test(source)) {
      impure.push(`${path} reads the clock, starts a timer or takes random numbers by itself`);
    }
  }
  assert.deepEqual(impure, []);
});

test('every pattern of a pure core matches a file', async () => {
  const files = await sourceFiles();
  const empty = PURE.filter((pattern) => !files.some((file) => pattern.test(file)));
  assert.deepEqual(empty, []);
});

test('protocols do not import each other', async () => {
  const protocolOf = (file: string): string | undefined => {
    const folder = /^proxy\/protocols\/([^/]+)\//.exec(file)?.[1];
    return folder === undefined || SHARED_BY_PROTOCOLS.has(folder) ? undefined : folder;
  };
  const crossing = (await readImports()).filter(({ from, to }) => {
    if (!from.startsWith('proxy/protocols/') || from === REGISTRY) return false;
    const imported = protocolOf(to);
    return to === REGISTRY || (imported !== undefined && imported !== protocolOf(from));
  });
  assert.deepEqual(crossing, []);
});

test('WireGuard does not import QUIC', async () => {
  const crossing = (await readImports()).filter(
    ({ from, to }) => from.startsWith('proxy/protocols/wireguard/') && packageOf(to) === 'quic',
  );
  assert.deepEqual(crossing, []);
});
