import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import { UsageError } from '@weir/base';
import { explainCommand } from '../../../src/cli/config/explain.ts';
import {
  freedom,
  httpIn,
  proxyOut,
  rule,
  socksIn,
} from '../../../../../test/support/process/config.ts';
import { scratch } from '../../../../../test/support/process/weir.ts';

const UPSTREAM = { host: '192.0.2.1', port: 1080 };
const CONFIG = [
  socksIn('desk'),
  httpIn('guests'),
  freedom(),
  proxyOut('west', 'socks', UPSTREAM),
  '[[balancer]]\ntag = "one"\noutbounds = ["west", "west"]\n',
  rule('west', 'domain_keyword = ["ads"]'),
  rule('west', 'inbound_tag = ["guests"]\nport = ["443"]'),
  rule('west', 'domain_suffix = ["office.example"]\nnetwork = "tcp"'),
  rule('one', 'source_cidr = ["10.0.0.0/8"]'),
  rule('west', 'cidr = ["198.51.100.0/24"]'),
  rule('west', 'domain_suffix = [".dotted.example"]'),
].join('\n');

interface Answer {
  readonly outbound: unknown;
  readonly rule: number | null;
  readonly passed_over: readonly { readonly reason: string }[];
}

/** Runs the command in this process; `config` left out stands for the built-in one. */
async function run(args: readonly string[], config?: string) {
  await using folder = await scratch();
  const file = join(folder.path, 'weir.toml');
  if (config !== undefined) await writeFile(file, config);
  const io = { stdout: new PassThrough(), stderr: new PassThrough(), env: {} };
  const more = config === undefined ? [] : ['--config', file];
  assert.equal(await explainCommand([...args, ...more], io), 0);
  const textOf = (stream: PassThrough): string => String(stream.read() ?? '');
  return { out: textOf(io.stdout), notes: textOf(io.stderr) };
}

const answerOf = async (...args: readonly string[]): Promise<Answer> =>
  JSON.parse((await run([...args, '--json'], CONFIG)).out) as Answer;

describe('weir explain', () => {
  const CASES: readonly (readonly [string, readonly string[], number | null])[] = [
    ['nothing', ['example.com:443'], null],
    ['the inbound', ['example.com:443', '--inbound', 'guests'], 1],
    ['the network', ['office.example:443', '--network', 'udp'], null],
    ['the client', ['example.com:443', '--from', '10.1.2.3'], 3],
    ['the client in its mapped form', ['example.com:443', '--from', '::ffff:10.1.2.3'], 3],
    ['the address', ['198.51.100.7:443'], 4],
    ['the address in its mapped form', ['[::ffff:198.51.100.7]:443'], 4],
    ['a sniffed domain', ['198.51.100.7:443', '--sniffed', 'ads.example'], 0],
    ['no sniffed domain over UDP', ['198.51.100.7:1', '--sniffed', 'ads', '--network', 'udp'], 4],
    ['letters of any case and a final dot', ['Www.OFFICE.example.:1'], 2],
  ];
  for (const [what, args, expected] of CASES) {
    test(`decides by ${what}`, async () => assert.equal((await answerOf(...args)).rule, expected));
  }

  test('gives the reason of each rule that was passed over', async () => {
    const { passed_over: named } = await answerOf('example.com:80');
    assert.deepEqual(
      named.map(({ reason }) => reason),
      [
        'domain_keyword: example.com is not ads',
        'port: 80 is not 443',
        'domain_suffix: example.com is not office.example',
        'source_cidr: 127.0.0.1 is not 10.0.0.0/8',
        'cidr: the destination is a domain, which is not resolved to be matched (198.51.100.0/24)',
        'domain_suffix: no name can match .dotted.example',
      ],
    );
    const [first] = (await answerOf('203.0.113.1:80')).passed_over;
    const unknown = 'the destination is an address, and no domain is known (ads)';
    assert.equal(first?.reason, `domain_keyword: ${unknown}`);
  });

  test('names the outbound of a balancer with one', async () => {
    assert.equal((await answerOf('example.com:443', '--from', '10.0.0.1')).outbound, 'west');
  });

  test('notes what the answer depends on', async () => {
    const { notes } = await run(['203.0.113.9:80', '--json'], CONFIG);
    assert.deepEqual(notes.trimEnd().split('\n'), [
      'weir explain: this depends on the client, which was assumed to be 127.0.0.1; see --from',
      'weir explain: a domain in the first bytes of the flow could change this (rules 0, 2); see --sniffed',
    ]);
    const given = ['203.0.113.9:80', '--from', '192.0.2.7', '--sniffed', 'a.example', '--json'];
    assert.equal((await run(given, CONFIG)).notes, '');
  });

  test('explains the built-in configuration without a file', async () => {
    const { out } = await run(['example.com:443']);
    assert.match(out, /^outbound {2}direct \(freedom\)$/m);
    assert.match(out, /of the built-in configuration$/m);
  });

  const INVALID: readonly (readonly [string, readonly string[], RegExp])[] = [
    ['no destination', [], /explain needs HOST:PORT/],
    ['two destinations', ['a:1', 'b:1'], /unexpected argument "b:1"/],
    ['no port', ['example.com'], /"example\.com" is not HOST:PORT/],
    ['a port that is too large', ['example.com:65536'], /is not HOST:PORT/],
    ['an IPv6 address without brackets', ['2001:db8::1:443'], /in brackets/],
    ['an invalid host', ['a b:80'], /is not HOST:PORT/],
    [
      'an unknown inbound',
      ['a:1', '--inbound', 'htp'],
      /no inbound has the tag "htp"; did you mean "http"/,
    ],
    ['an unknown network', ['a:1', '--network', 'icmp'], /--network is tcp or udp/],
    ['a client that is a name', ['a:1', '--from', 'localhost'], /--from needs an IP address/],
    ['a sniffed address', ['a:1', '--sniffed', '192.0.2.1'], /--sniffed needs a domain name/],
    ['no file', ['a:1', '--config', ''], /--config needs the name of a file/],
  ];
  for (const [what, args, message] of INVALID) {
    test(`refuses ${what}`, async () => {
      await assert.rejects(run(args), (error) => {
        assert.ok(error instanceof UsageError);
        assert.match(error.message, message);
        return true;
      });
    });
  }
});
