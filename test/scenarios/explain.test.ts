import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { loadConfigFile } from '@weir/server/loading';
import { RouteExplainer } from '@weir/proxy/explain';
import { RegexCache } from '@weir/proxy/names';
import { blackhole, freedom, httpIn, proxyOut, rule, socksIn } from '../support/process/config.ts';
import { API, Control } from '../support/process/control.ts';
import { tcpServer } from '../support/peers/servers.ts';
import { GRANTED, readConnect } from '../support/peers/socks-server.ts';
import { socksConnect, type Target } from '../support/peers/socks-client.ts';
import { runWeir, scratch, Weir } from '../support/process/weir.ts';

interface Passed {
  readonly rule: number;
  readonly line: number | null;
  readonly reason: string;
}

interface Answer {
  readonly outbound: unknown;
  readonly rule: number | null;
  readonly line: number | null;
  readonly matcher: unknown;
  readonly group: string | null;
  readonly passed_over: readonly Passed[];
}

const UPSTREAM = { host: '192.0.2.1', port: 1080 };

const CONFIG = `${socksIn('desk')}${httpIn('guests')}${freedom()}${blackhole()}
${proxyOut('east', 'socks', UPSTREAM)}${proxyOut('west', 'socks', UPSTREAM)}
[[balancer]]
tag = "both"
outbounds = ["east", "west"]
strategy = "round_robin"

${rule('block', 'domain_keyword = ["tracker", "ads"]')}
${rule('east', 'inbound_tag = ["guests"]\nport = ["443"]')}
${rule('both', 'domain_suffix = ["other.example", "office.example"]\nnetwork = "tcp"')}
${rule('west', 'source_cidr = ["10.0.0.0/8"]')}
${rule('west', 'cidr = ["198.51.100.0/24"]')}
`;

/** The line of a rule, found by its text. */
const lineBefore = (text: string, matcher: string): number =>
  text.slice(0, text.lastIndexOf('[[route.rule]]', text.indexOf(matcher))).split('\n').length;

async function explain(
  config: string,
  ...args: readonly string[]
): Promise<{ answer: Answer; notes: string }> {
  await using folder = await scratch();
  const file = join(folder.path, 'weir.toml');
  await writeFile(file, config);
  const weir = await runWeir(['explain', ...args, '--config', file, '--json']);
  assert.deepEqual(await weir.exited, { code: 0, signal: null }, weir.stderr);
  return { answer: JSON.parse(weir.stdout) as Answer, notes: weir.stderr };
}

test('a rule is reported with its line, what it matched, and what was passed over', async () => {
  const { answer, notes } = await explain(CONFIG, 'www.Office.example:443');
  assert.deepEqual(Object.keys(answer), [
    'outbound',
    'rule',
    'line',
    'matcher',
    'group',
    'passed_over',
  ]);
  assert.deepEqual(answer.outbound, {
    balancer: 'both',
    strategy: 'round_robin',
    members: ['east', 'west'],
  });
  assert.equal(answer.rule, 2);
  assert.equal(answer.line, lineBefore(CONFIG, '"other.example"'));
  assert.deepEqual(answer.matcher, [
    { key: 'domain_suffix', value: 'office.example' },
    { key: 'network', value: 'tcp' },
  ]);
  assert.equal(answer.group, null);
  assert.deepEqual(
    answer.passed_over.map(({ rule: index, line, reason }) => [index, line, reason]),
    [
      [
        0,
        lineBefore(CONFIG, '"tracker"'),
        'domain_keyword: www.office.example is not among tracker, ads',
      ],
      [1, lineBefore(CONFIG, '["guests"]'), 'inbound_tag: desk is not guests'],
    ],
  );
  assert.match(notes, /which member of the balancer takes a flow depends on their health/);
  assert.match(notes, /depends on the inbound, which was assumed to be desk/);
});

test('a rule of a route group has the group, and its line in the subscribe file', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'weir.toml');
  const nodes = [
    '[[proxy_server]]\nname = "tokyo"\nprotocol = "socks"\nserver = "192.0.2.1"\nport = 1\n',
    '[[route_group]]\nname = "First"\n[[route_group.rule]]\ndomain_full = ["first.example"]\n',
    '[[route_group]]\nname = "Video"\ninherit = "direct"\n',
    '[[route_group.rule]]\ndomain_full = ["a.example"]\n',
    '[[route_group.rule]]\ndomain_suffix = ["video.example"]\n',
  ].join('');
  await writeFile(join(folder.path, 'nodes.toml'), nodes);
  const config = `${socksIn()}${freedom('out')}${rule('out', 'port = ["1"]')}
[subscribe]\npath = "nodes.toml"\n[subscribe.routes]\nVideo = "tokyo"\n`;
  await writeFile(file, config);
  const args = ['explain', 'www.video.example:443', '--config', file];
  const json = await runWeir([...args, '--json']);
  const answer = JSON.parse(json.stdout) as Answer;
  const line = nodes.slice(0, nodes.lastIndexOf('[[route_group.rule]]')).split('\n').length;
  assert.deepEqual(
    [answer.outbound, answer.rule, answer.line, answer.group],
    ['tokyo', 3, line, 'Video'],
  );
  const text = await runWeir(args);
  assert.match(text.stdout, /^outbound {2}tokyo \(socks\)$/m);
  assert.ok(text.stdout.includes(`${join(folder.path, 'nodes.toml')}:${line}\n`), text.stdout);
  assert.match(text.stdout, /^group {5}Video$/m);
  assert.match(
    text.stdout,
    /^ +1 +nodes\.toml:8 +out +domain_full: www\.video\.example is not first/m,
  );
});

test('people see a short list of the rules that were passed over', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'weir.toml');
  const many = Array.from({ length: 500 }, (_, i) =>
    rule('direct', `domain_full = ["${i}.example"]`),
  );
  await writeFile(file, socksIn() + freedom() + many.join(''));
  const { stdout } = await runWeir(['explain', 'example.com:80', '--config', file]);
  assert.match(stdout, /^rule +none: the default route, .*weir\.toml:7$/m);
  assert.match(stdout, /^and 490 more, which --json shows$/m);
  assert.ok(stdout.split('\n').length < 25);
});

test('the status is 1 for an invalid configuration and 2 for an invalid command line', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'weir.toml');
  await writeFile(file, socksIn());
  const invalid = await runWeir(['explain', 'example.com:80', '--config', file]);
  assert.equal((await invalid.exited).code, 1);
  assert.match(invalid.stderr, /configuration invalid: config defines no outbounds/);
  assert.equal(invalid.stdout, '');
  const usage = await runWeir(['explain', 'example.com']);
  assert.equal((await usage.exited).code, 2);
  assert.match(usage.stderr, /"example\.com" is not HOST:PORT.*\nTry 'weir explain --help'\.\n$/);
});

/** Numbers that only look random, the same in every run. */
function* numbers(): Generator<number, never> {
  for (let state = 1; ;) {
    state = (state * 48_271) % 2_147_483_647;
    yield state;
  }
}

test('a running Weir routes as it is explained, with 10,000 rules', async () => {
  // A proxy that grants everything and keeps it open, so that flows can be looked at.
  await using upstream = await tcpServer(async (socket) => {
    await readConnect(socket);
    socket.write(GRANTED);
    socket.resume();
  });
  const source = numbers();
  const below = (limit: number): number => source.next().value % limit;
  const pick = <T>(...choices: readonly T[]): T => choices[below(choices.length)] as T;
  const name = (): string => `${pick('a', 'b', 'c')}${below(40)}.${pick('x', 'y')}.example`;
  const address = (): string => `10.${below(3)}.${below(40)}.${below(250)}`;
  const matcher = (): string =>
    pick(
      () => `domain_full = ["${name()}", "${name()}"]`,
      () => `domain_suffix = ["${name()}"]\nport = ["${below(20)}-${20 + below(20)}"]`,
      () =>
        `domain_keyword = ["${pick('a', 'b')}${below(40)}.${pick('x', 'y')}"]\nport = ["${below(40)}"]`,
      () => `cidr = ["10.${below(3)}.${below(40)}.0/24"]\nport = ["${below(40)}"]`,
      () =>
        `source_cidr = ["127.0.0.${below(30) + 1}"]\nport = ["${below(40)}"]\ndomain_suffix = ["${pick('x', 'y')}.example"]`,
      () => `inbound_tag = ["${pick('one', 'two')}"]\ncidr = ["${address()}"]`,
    )();
  const tags = ['out0', 'out1', 'out2'];
  const rules = Array.from({ length: 10_000 }, () => rule(pick(...tags), matcher()));
  const config = [
    API,
    socksIn('one', 'sniffing = false'),
    socksIn('two', 'sniffing = false'),
    ...tags.map((tag) => proxyOut(tag, 'socks', upstream.target)),
    ...rules,
  ].join('\n');
  await using weir = await Weir.start(config);
  const control = await Control.of(weir);

  const regexes = new RegexCache();
  const { spec, geo } = await loadConfigFile(control.file, { regexes });
  const explainer = new RouteExplainer(spec.route, regexes, geo);
  const asked: { readonly inbound: string; readonly from: string; readonly target: Target }[] = [];
  const sockets = [];
  for (let i = 0; i < 300; i++) {
    const target = { host: pick(name, address)(), port: below(40) + 1 };
    const flow = { inbound: pick('one', 'two'), from: `127.0.0.${below(30) + 1}`, target };
    asked.push(flow);
    sockets.push(
      await socksConnect(weir.address(flow.inbound), target, { localAddress: flow.from }),
    );
  }
  const { flows } = await control.connections();
  assert.equal(flows.length, asked.length);
  let decided = 0;
  for (const [index, { inbound, from, target }] of asked.entries()) {
    const flow = flows[index];
    const query = { inbound, source: from, network: 'tcp', ...target, sniffed: undefined } as const;
    const { rule: expected, outbound } = explainer.explain(query);
    assert.deepEqual(
      [flow?.host, flow?.outbound, flow?.rule],
      [target.host, outbound, expected ?? null],
    );
    if (expected !== undefined) decided++;
  }
  // Both answers occur, so that the comparison means something.
  assert.ok(decided > 50 && decided < asked.length, String(decided));
  for (const { inbound, from, target } of asked.slice(0, 3)) {
    const args = [`${target.host}:${target.port}`, '--inbound', inbound, '--from', from];
    const { stdout } = await runWeir(['explain', ...args, '--config', control.file, '--json']);
    const answer = JSON.parse(stdout) as Answer;
    const flow = flows.find(({ host, port }) => host === target.host && port === target.port);
    assert.deepEqual([answer.outbound, answer.rule], [flow?.outbound, flow?.rule]);
  }
  for (const socket of sockets) socket.destroy();
});
