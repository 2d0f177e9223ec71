import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { findProtocol, protocolNames } from '@weir/proxy/protocols';
import type { Shape } from '@weir/proxy/schema';
import { configSchema } from '../../src/json-schema.ts';
import { DIRECT, errorOf } from '../../../../test/support/config/support.ts';

const ROOT = join(import.meta.dirname, '../../../..');

/** The linter that comes with the development dependencies, without a script that installs it. */
const TOMBI = join(ROOT, `node_modules/@tombi-toml/cli-${process.platform}-${process.arch}/tombi`);
const skip = existsSync(TOMBI) ? false : 'tombi is not installed for this platform';

const keysOf = (shape: Shape | undefined): readonly string[] =>
  Object.keys(shape?.properties ?? {}).sort();

/** The keys that the decoder names when it refuses one that it does not know. */
function decodedKeys(text: string): readonly string[] {
  const message = errorOf(text).message.split('unknown field `zzz`')[1] ?? assert.fail(text);
  return Array.from(message.matchAll(/`(\w+)`/g), ([, key = '']) => key).sort();
}

const schema = await configSchema();

/** The part of the schema that a table is checked by. */
const at = (...path: readonly string[]): Shape | undefined =>
  path.reduce<Shape | undefined>(
    (shape, key) => (shape?.items ?? shape)?.properties?.[key],
    schema,
  );
const entry = (shape: Shape | undefined): Shape | undefined => shape?.items ?? shape;

const IN = `${DIRECT}[[inbound]]\ntag = "in"\nprotocol = "http"\nport = 1\n`;
const OUT = '[[outbound]]\ntag = "out"\nprotocol = "http"\nserver = "a"\nport = 1\n';

const TABLES: readonly (readonly [path: readonly string[], text: string])[] = [
  [[], 'zzz = 1'],
  [['log'], '[log]\nzzz = 1'],
  [['dns'], '[dns]\nzzz = 1'],
  [['inbound'], `${IN}zzz = 1`],
  [['inbound', 'stream'], `${IN}stream.zzz = 1`],
  [['outbound'], `${OUT}zzz = 1`],
  [['outbound', 'stream', 'tls'], `${OUT}stream.tls.zzz = 1`],
  [['outbound', 'stream', 'ws'], `${OUT}stream.ws.zzz = 1`],
  [['outbound', 'stream', 'grpc'], `${OUT}stream.grpc.zzz = 1`],
  [['balancer'], '[[balancer]]\nzzz = 1'],
  [['route'], '[route]\nzzz = 1'],
  [['route', 'rule'], '[[route.rule]]\nzzz = 1'],
  [['subscribe'], '[subscribe]\nzzz = 1'],
];

describe('the schema has the keys of the decoder, and no other:', () => {
  for (const [path, text] of TABLES) {
    test(path.length === 0 ? 'the top level' : path.join('.'), () => {
      assert.deepEqual(keysOf(entry(at(...path))), decodedKeys(text));
    });
  }

  for (const side of ['inbound', 'outbound'] as const) {
    for (const name of protocolNames(side)) {
      const settings = findProtocol(name)?.[side]?.table?.shape;
      if (!settings) continue;
      test(`settings of the ${side} ${name}`, () => {
        const place =
          name === 'tun' ? '' : `${side === 'outbound' ? 'server = "a"\n' : ''}port = 1\n`;
        const head = side === 'inbound' ? DIRECT : '';
        const text = `${head}[[${side}]]\ntag = "x"\nprotocol = "${name}"\n${place}settings.zzz = 1`;
        assert.deepEqual(keysOf(settings), decodedKeys(text));
        const union = entry(at(side))?.properties?.['settings'];
        for (const key of keysOf(settings)) assert.ok(keysOf(union).includes(key), key);
        const narrowed = entry(at(side))?.allOf?.find(
          ({ if: condition }) => condition?.properties?.['protocol']?.const === name,
        );
        assert.equal(narrowed?.then?.properties?.['settings'], settings);
      });
    }
  }
});

test('every key but those of accounts and inner tables has a description', () => {
  const missing: string[] = [];
  for (const path of ['log', 'dns', 'inbound', 'balancer', 'route', 'api'] as const) {
    for (const [key, value] of Object.entries(entry(at(path))?.properties ?? {})) {
      if (value.description === undefined) missing.push(`${path}.${key}`);
    }
  }
  assert.deepEqual(missing, []);
});

/** Files with one mistake each; the line that it stands in is the one with the comment. */
const MISTAKES: readonly (readonly [what: string, text: string])[] = [
  ['a plural table', `${DIRECT}[[inbounds]] # here\ntag = "a"\n`],
  ['an unknown table', `${DIRECT}[routes] # here\n`],
  ['an unknown key of [log]', `${DIRECT}[log]\nlevl = "info" # here\n`],
  ['a level that is a number', `${DIRECT}[log]\nlevel = 3 # here\n`],
  ['an unknown backend', `${DIRECT}[dns]\nbackend = "doh" # here\n`],
  ['an unknown key of [dns]', `${DIRECT}[dns]\nservers = [] # here\n`],
  ['an unknown protocol of an inbound', IN.replace('"http"', '"sock" # here')],
  ['an outbound protocol in an inbound', IN.replace('"http"', '"freedom" # here')],
  ['an unknown protocol of an outbound', OUT.replace('"http"', '"reject" # here')],
  ['a protocol in capitals', OUT.replace('"http"', '"HTTP" # here')],
  ['a port that is a string', IN.replace('port = 1', 'port = "1" # here')],
  ['a port that is too large', IN.replace('port = 1', 'port = 65536 # here')],
  ['a port below zero', IN.replace('port = 1', 'port = -1 # here')],
  ['sniffing that is a string', `${IN}sniffing = "yes" # here\n`],
  ['an unknown key of an inbound', `${IN}listen_port = 1 # here\n`],
  ['an unknown key of an outbound', `${OUT}address = "a" # here\n`],
  ['a server that is a number', OUT.replace('"a"', '1 # here')],
  ['an unknown network', `${OUT}[outbound.stream]\nnetwork = "websocket" # here\n`],
  ['an unknown security', `${OUT}[outbound.stream]\nsecurity = "reality" # here\n`],
  ['an unknown key of a stream', `${OUT}[outbound.stream]\npath = "/" # here\n`],
  ['an unknown key of TLS', `${OUT}[outbound.stream.tls]\nsni = "a" # here\n`],
  [
    'allow_insecure that is a string',
    `${OUT}[outbound.stream.tls]\nallow_insecure = "no" # here\n`,
  ],
  ['an unknown key of a WebSocket', `${OUT}[outbound.stream.ws]\nheaders = {} # here\n`],
  ['an unknown key of gRPC', `${OUT}[outbound.stream.grpc]\nservice = "a" # here\n`],
  ['settings of another protocol', `${IN}[inbound.settings]\nauth = "password" # here\n`],
  ['a mistyped key of settings', `${IN}[inbound.settings]\nacounts = [] # here\n`],
  ['accounts that are a string', `${IN}[inbound.settings]\naccounts = "a" # here\n`],
  [
    'an unknown key of an account',
    `${IN}[inbound.settings]\naccounts = [{ user = "a", pass = "b", level = 1 }] # here\n`,
  ],
  [
    'an unknown auth',
    `${IN.replace('"http"', '"socks"')}[inbound.settings]\nauth = "pass" # here\n`,
  ],
  [
    'udp that is a string',
    `${IN.replace('"http"', '"socks"')}[inbound.settings]\nudp = "on" # here\n`,
  ],
  [
    'the flow of a VLESS user',
    `${IN.replace('"http"', '"vless"')}[inbound.settings]\nusers = [{ id = "x", flow = "" }] # here\n`,
  ],
  [
    'the encryption of a VLESS outbound',
    `${OUT.replace('"http"', '"vless"')}[outbound.settings]\nid = "x"\nencryption = "none" # here\n`,
  ],
  [
    'an MTU that is too large',
    `${DIRECT}[[inbound]]\ntag = "t"\nprotocol = "tun"\n[inbound.settings]\nmtu = 70000 # here\n`,
  ],
  [
    'reserved bytes that are a string',
    `[[outbound]]\ntag = "w"\nprotocol = "wireguard"\n[outbound.settings]\nprivate_key = "x"\npeer_public_key = "x"\nendpoint = "a:1"\naddress = "10.0.0.2" # here\n`,
  ],
  [
    'an unknown strategy',
    `${OUT}[[balancer]]\ntag = "b"\noutbounds = ["out"]\nstrategy = "random" # here\n`,
  ],
  [
    'an interval with a unit',
    `${OUT}[[balancer]]\ntag = "b"\noutbounds = ["out"]\nprobe_interval = "30s" # here\n`,
  ],
  [
    'a rule with integers for ports',
    `${DIRECT}[[route.rule]]\noutbound = "direct"\nport = [80] # here\n`,
  ],
  [
    'a rule with two networks',
    `${DIRECT}[[route.rule]]\noutbound = "direct"\nnetwork = ["tcp", "udp"] # here\n`,
  ],
  [
    'a rule with an unknown matcher',
    `${DIRECT}[[route.rule]]\noutbound = "direct"\ndomain = ["a"] # here\n`,
  ],
  ['a plural rule', `${DIRECT}[[route.rules]] # here\noutbound = "direct"\n`],
  ['an unknown key of [api]', `${DIRECT}[api]\ntoken = "a" # here\n`],
];

describe('tombi, with the schema,', { skip }, () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'weir-schema-'));
    await writeFile(join(folder, 'weir.schema.json'), JSON.stringify(schema));
  });
  after(() => rm(folder, { recursive: true }));

  const lint = (...files: readonly string[]): string => {
    const { stdout, stderr } = spawnSync(TOMBI, ['lint', '--offline', ...files], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, NO_COLOR: '1' },
    });
    return stdout + stderr;
  };
  const add = async (name: string, text: string): Promise<void> =>
    writeFile(join(folder, name), `#:schema ./weir.schema.json\n${text}`);

  test('accepts every example', async () => {
    const names = await readdir(join(ROOT, 'config'));
    for (const name of names) await add(name, await readFile(join(ROOT, 'config', name), 'utf8'));
    assert.match(lint(...names), new RegExp(`^${names.length} files linted successfully\\s*$`));
  });

  test('accepts inline tables over lines, as TOML 1.1 and Weir do', async () => {
    const users =
      'users = [\n  { user = "a", pass = "b" },\n]\nmasquerade = {\n  status = 404,\n}\n';
    const files = 'cert_file = "a"\nkey_file = "b"\n';
    for (const name of ['hysteria2', 'hysteria', 'hy2']) {
      const head = IN.replace('"http"', `"${name}"`);
      await add(`${name}.toml`, `${head}[inbound.settings]\n${files}${users}`);
    }
    assert.match(lint('hysteria2.toml', 'hysteria.toml', 'hy2.toml'), /^3 files linted success/);
  });

  for (const [what, text] of MISTAKES) {
    test(`finds ${what} in its line`, async () => {
      await add('mistake.toml', text);
      const line = text.split('\n').findIndex((each) => each.includes('# here')) + 2;
      const places = Array.from(
        // Colours, which some versions write into a pipe.
        stripVTControlCharacters(lint('mistake.toml')).matchAll(/mistake\.toml:(\d+):/g),
        ([, number]) => Number(number),
      );
      assert.deepEqual([...new Set(places)], [line]);
    });
  }
});
