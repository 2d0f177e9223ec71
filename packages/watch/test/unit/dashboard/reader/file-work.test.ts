import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { ConfigError } from '@weir/config';
import { FileWork, changedLines } from '../../../../src/dashboard/reader/file-work.ts';
import { freedom, proxyOut, rule, socksIn } from '../../../../../../test/support/process/config.ts';
import { scratch } from '../../../../../../test/support/process/weir.ts';

const SERVER = { host: '192.0.2.1', port: 1080 };
const CONFIG = [
  socksIn('desk', 'sniffing = true'),
  freedom(),
  proxyOut('tokyo', 'trojan', SERVER, 'password = "s3cret"').replace(
    '[outbound.settings]',
    '[outbound.stream]\nnetwork = "ws"\nsecurity = "tls"\n[outbound.stream.tls]\nserver_name = "x.example"\n[outbound.stream.ws]\npath = "/hidden-path"\n[outbound.settings]',
  ),
  proxyOut('osaka', 'socks', SERVER),
  '[[balancer]]\ntag = "pair"\noutbounds = ["tokyo", "osaka", "tokyo"]\n',
  '[subscribe]\npath = "nodes.toml"\n',
  rule('pair', 'domain_suffix = ["office.example"]'),
  rule('tokyo', 'domain_suffix = ["www.office.example"]'),
  rule('osaka', 'port = ["443", "8443", "9443", "10443"]\nnetwork = "tcp"'),
].join('\n');
const NODES = `# source: home
[[proxy_server]]
name = "Nagoya"
protocol = "socks"
server = "192.0.2.9"
port = 1080

[[route_group]]
name = "video"
inherit = "default"
[[route_group.rule]]
domain_suffix = ["video.example"]
`;

async function opened(config = CONFIG) {
  const folder = await scratch();
  const path = join(folder.path, 'weir.toml');
  const text = config.replace('"nodes.toml"', JSON.stringify(join(folder.path, 'nodes.toml')));
  await writeFile(path, text);
  await writeFile(join(folder.path, 'nodes.toml'), NODES);
  return { path, text, ofFile: { path, pid: null }, work: new FileWork(), folder };
}

const ALL = { search: '', first: 0, count: 60, dead: false };

describe('a configuration, as the dashboard reads it', () => {
  test('outbounds and nodes without anything secret', async () => {
    const { work, ofFile, folder } = await opened();
    await using _folder = folder;
    const facts = await work.ask('facts', ofFile);
    assert.deepEqual(
      facts.nodes.map(({ tag, origin, source, carrier, server }) =>
        [tag, origin, source, carrier, server].join(' '),
      ),
      [
        'direct config   ',
        'tokyo config  ws + tls 192.0.2.1:1080',
        'osaka config  tcp 192.0.2.1:1080',
        'Nagoya subscribe home tcp 192.0.2.9:1080',
      ],
    );
    assert.deepEqual(facts.balancers, [
      { tag: 'pair', strategy: 'failover', members: ['tokyo', 'osaka'], lostFrom: [] },
    ]);
    assert.deepEqual([facts.inbounds, facts.rules, facts.hasSubscriptions], [['desk'], 4, true]);
    assert.doesNotMatch(JSON.stringify(facts), /s3cret|hidden-path/);
  });

  test('which nodes accept any certificate, and which balancers have lost their nodes', async () => {
    const tls = 'network = "tls"\ntls = { allow_insecure = true }\n';
    const config = [
      socksIn(),
      proxyOut('own', 'trojan', SERVER, 'password = "x"').replace(
        '[outbound.settings]',
        `[outbound.stream]\n${tls}[outbound.settings]`,
      ),
      proxyOut('quic', 'hysteria2', SERVER, 'password = "x"\nallow_insecure = true'),
      proxyOut('checked', 'hysteria2', SERVER, 'password = "x"'),
      '[[balancer]]\ntag = "lost"\noutbounds = ["own", "Kobe"]\n',
      '[[balancer]]\ntag = "alive"\noutbounds = ["Nagoya", "Kobe"]\n',
      '[[balancer]]\ntag = "mine"\noutbounds = ["own", "Nara"]\n',
      '[subscribe]\npath = "nodes.toml"\n',
    ].join('\n');
    const { work, ofFile, folder } = await opened(config);
    await using _folder = folder;
    const kobe = `# source: home; kept: in use, and gone from the source since 2026-01-01T00:00:00.000Z
[[proxy_server]]
name = "Kobe"
protocol = "trojan"
server = "192.0.2.10"
port = 443
[proxy_server.stream]
${tls}[proxy_server.settings]
password = "x"
`;
    const nara = kobe.replace(/^#.*$/m, '# source: (import)').replace('Kobe', 'Nara');
    await writeFile(join(folder.path, 'nodes.toml'), `${kobe}\n${nara}\n${NODES}`);
    const { nodes, balancers } = await work.ask('facts', ofFile);
    assert.deepEqual(
      nodes.filter(({ acceptsAny }) => acceptsAny).map(({ tag }) => tag),
      ['own', 'quic', 'Kobe', 'Nara'],
    );
    assert.equal(nodes.find(({ tag }) => tag === 'Nara')?.source, null);
    assert.deepEqual(
      balancers.map(({ tag, lostFrom }) => [tag, lostFrom]),
      [
        ['lost', ['home']],
        ['alive', []],
        ['mine', []],
      ],
    );
  });

  test('a check, what is in force, and the lines around a place, with secrets starred', async () => {
    const { work, ofFile, path, text, folder } = await opened();
    await using _folder = folder;
    const check = { ...ofFile, pick: null };
    const valid = await work.ask('check', check);
    assert.ok(valid.kind === 'valid' && valid.lines > 20, JSON.stringify(valid));
    const wanted = { ...ofFile, find: 'PassWord', first: 0, count: 10 };
    const inForce = await work.ask('text', wanted);
    assert.deepEqual([inForce.total, inForce.rows.length], [1, 1]);
    assert.match(inForce.rows[0]?.text ?? '', /^password = "\*\*\*"/);

    await writeFile(path, text.replace('"s3cret"', '"s3cret"\nnonsense = "s3cret"'));
    const invalid = await work.ask('check', check);
    assert.ok(invalid.kind === 'invalid' && invalid.error.place, JSON.stringify(invalid));
    const { place } = invalid.error;
    const lines = await work.ask('lines', { ...check, place });
    assert.equal(lines.length, 7);
    assert.match(lines[3]?.text ?? '', /^nonsense = /);
    assert.doesNotMatch(JSON.stringify([inForce, invalid, lines]), /s3cret/);
    await assert.rejects(work.ask('text', wanted), ConfigError);
    const missing = { ...place, file: `${path}.gone` };
    assert.deepEqual(await work.ask('lines', { ...check, place: missing }), []);
  });

  test('a check of a file as a pick would have it', async () => {
    const { work, ofFile, text, path, folder } = await opened();
    await using _folder = folder;
    const check = { ...ofFile, pick: { group: 'video', target: 'Nagoya' } };
    assert.equal((await work.ask('check', check)).kind, 'valid');
    const wrong = { ...ofFile, pick: { group: 'video', target: 'nowhere' } };
    const refused = await work.ask('check', wrong);
    assert.ok(refused.kind === 'invalid' && refused.error.place, JSON.stringify(refused));
    const lines = await work.ask('lines', { ...wrong, place: refused.error.place });
    assert.match(lines[3]?.text ?? '', /^video = "nowhere"$/);
    assert.ok(!text.includes('nowhere') && !(await readFile(path, 'utf8')).includes('nowhere'));
  });

  test('a window of rules with places, targets and warnings', async () => {
    const { work, ofFile, folder } = await opened();
    await using _folder = folder;
    const found = await work.ask('rules', { ...ofFile, ...ALL });
    assert.deepEqual([found.total, found.matching, found.dead], [4, 4, 1]);
    const [first, second, third, fourth] = found.rows;
    assert.match(first?.place ?? '', /^weir\.toml:\d+$/);
    assert.deepEqual(first?.target, { tag: 'pair', kind: 'balancer', members: ['tokyo', 'osaka'] });
    assert.match(second?.warning ?? '', /never matches/);
    assert.deepEqual(third?.matchers, [
      { key: 'port', entries: ['443', '8443', '9443'], more: 1 },
      { key: 'network', entries: ['tcp'], more: 0 },
    ]);
    assert.deepEqual([fourth?.group, fourth?.place], ['video', 'nodes.toml:11']);
    assert.equal(found.fallback.target.tag, 'direct');
  });

  for (const [search, expected] of [
    ['OFFICE.example', [0, 1]],
    ['10443', [2]],
    ['video', [3]],
    ['nodes.toml', [3]],
    ['tokyo office', [1]],
    ['rule:2', [2]],
    ['rule:2 tokyo', []],
    ['', [0, 1, 2, 3]],
  ] as const) {
    test(`rules that match ${JSON.stringify(search)}`, async () => {
      const { work, ofFile, folder } = await opened();
      await using _folder = folder;
      const { rows } = await work.ask('rules', { ...ofFile, ...ALL, search });
      assert.deepEqual(
        rows.map(({ id }) => id),
        expected,
      );
    });
  }

  test('a window beyond the end is the last one', async () => {
    const { work, ofFile, folder } = await opened();
    await using _folder = folder;
    const { first, rows } = await work.ask('rules', { ...ofFile, ...ALL, first: 99, count: 3 });
    assert.deepEqual([first, rows.length], [1, 3]);
  });

  test('the route of a flow, with the rules that were passed over', async () => {
    const { work, ofFile, folder } = await opened();
    await using _folder = folder;
    const flow = { to: 'a.example:8443', from: undefined, inbound: undefined };
    const asked = { ...flow, network: undefined, sniffed: undefined, first: 0 };
    const found = await work.ask('explain', { ...ofFile, ...asked });
    assert.deepEqual([found.rule, found.target.tag, found.passed.total], [2, 'osaka', 2]);
    assert.equal(found.flow, 'tcp a.example:8443 from 127.0.0.1 through inbound desk');
    assert.deepEqual(found.matched?.[0], { key: 'port', entry: '8443' });
    assert.equal(found.passed.rows[0]?.reason, 'domain_suffix: a.example is not office.example');
    await assert.rejects(work.ask('explain', { ...ofFile, ...asked, to: 'nowhere' }), /HOST:PORT/);
  });

  test('is read again when one of its files has changed, and not otherwise', async () => {
    const { work, ofFile, path, text, folder } = await opened();
    await using _folder = folder;
    const before = await work.ask('facts', ofFile);
    assert.equal((await work.ask('facts', ofFile)).version, before.version);
    await writeFile(join(folder.path, 'nodes.toml'), NODES.replace('Nagoya', 'Kobe'));
    const after = await work.ask('facts', ofFile);
    assert.equal(after.nodes.at(-1)?.tag, 'Kobe');
    await writeFile(path, `${text}\nfrobnicate = 1\n`);
    await assert.rejects(work.ask('facts', ofFile), ConfigError);
    await writeFile(path, text);
    assert.equal((await work.ask('facts', ofFile)).nodes.length, 4);
  });

  test('the built-in configuration has no file', async () => {
    const facts = await new FileWork().ask('facts', { path: null, pid: null });
    assert.ok(facts.nodes.length > 0);
  });
});

const lines = (all: readonly { readonly line: number; readonly text: string }[]): string[] =>
  all.map(({ line, text }) => `${line} ${text}`);

test('one changed line is shown with the lines before it', async () => {
  const before = '[route]\n# first\ndefault = "near"\n[log]\n';
  const difference = await changedLines(before, before.replace('near', 'direct'));
  assert.deepEqual(lines(difference.context), ['1 [route]', '2 #******']);
  assert.deepEqual(lines(difference.removed), ['3 default = "near"']);
  assert.deepEqual(lines(difference.added), ['3 default = "direct"']);
  assert.equal(difference.hidden, false);
});

test('a change within a secret shows that there is one, and not which', async () => {
  const of = (secret: string): string => `[api]\nsecret = "${secret}"\n`;
  const difference = await changedLines(of('aaaaaaaa'), of('bbbbbbbb'));
  assert.deepEqual(lines(difference.removed), ['2 secret = "********"']);
  assert.deepEqual(lines(difference.added), ['2 secret = "********"']);
  assert.equal(difference.hidden, true);
});

test('added and removed lines, and equal documents', async () => {
  const added = await changedLines('a = 1\nc = 3\n', 'a = 1\nb = 2\nc = 3\n');
  assert.deepEqual([added.removed.length, added.added.length], [0, 1]);
  const gone = await changedLines('a = 1\nb = 2\nc = 3\n', 'a = 1\nc = 3\n');
  assert.deepEqual([gone.removed.length, gone.added.length], [1, 0]);
  const equal = await changedLines('a = 1\n', 'a = 1\n');
  assert.deepEqual([equal.removed, equal.added], [[], []]);
});

test('any two documents have a bounded difference that accounts for all their lines', async () => {
  const text = fc
    .array(fc.oneof(fc.constantFrom('a = 1', '[x]', '"""', ''), fc.string()), {
      maxLength: 80,
      size: 'max',
    })
    .map((all) => all.join('\n'));
  await fc.assert(
    fc.asyncProperty(text, text, async (before, after) => {
      const { removed, added, moreRemoved, moreAdded } = await changedLines(before, after);
      assert.ok(removed.length <= 24 && added.length <= 24);
      const growth = after.split('\n').length - before.split('\n').length;
      assert.equal(added.length + moreAdded - removed.length - moreRemoved, growth);
    }),
    { numRuns: 50 },
  );
});
