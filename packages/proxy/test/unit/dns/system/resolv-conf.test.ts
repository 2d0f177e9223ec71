import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseResolvConf, searchNames } from '../../../../src/dns/system/system-resolvers.ts';

const bare = { localDomain: undefined, resOptions: undefined, hostname: 'box' };
const parse = (text: string, surroundings = {}) =>
  parseResolvConf(text, { ...bare, ...surroundings });

test('every keyword and option is read', () => {
  const text = `# comment
; nameserver 192.0.2.66
nameserver 192.0.2.53
nameserver\t2001:db8::53
nameserver not-an-address
nameserver fe80::1%eth0
nameserver 192.0.2.54
domain other.example
search Corp.example. sub.corp.example .
options ndots:5 timeout:3 attempts:4 rotate
options edns0 trust-ad no-aaaa`;
  assert.deepEqual(parse(text), {
    nameservers: ['192.0.2.53', '2001:db8::53', 'fe80::1%eth0'],
    search: ['corp.example', 'sub.corp.example'],
    ndots: 5,
    rounds: [3000, 3000, 3000, 3000],
    rotate: true,
    noAaaa: true,
  });
});

test('what is left out has the usual values', () => {
  assert.deepEqual(parse('nameserver 192.0.2.53\r\n'), {
    nameservers: ['192.0.2.53'],
    search: [],
    ndots: 1,
    rounds: [1000, 2000, 4000],
    rotate: false,
    noAaaa: false,
  });
  assert.deepEqual(parse('nameserver ::1\noptions timeout:2')?.rounds, [2000, 2000]);
  assert.deepEqual(parse('nameserver ::1\noptions attempts:1')?.rounds, [5000]);
});

test('values beyond the limits of the C library are reduced to them', () => {
  const read = parse('nameserver ::1\noptions ndots:99 timeout:0 timeout:999 attempts:99');
  assert.deepEqual([read?.ndots, read?.rounds], [15, Array.from({ length: 5 }, () => 30_000)]);
});

test('the environment and the name of the host fill in', () => {
  const text = 'nameserver ::1\nsearch a.example\noptions ndots:1';
  const search = (written: string, surroundings: object) => parse(written, surroundings)?.search;
  assert.deepEqual(search('nameserver ::1', { hostname: 'box.lan.example' }), ['lan.example']);
  assert.deepEqual(search(text, { hostname: 'box.lan.example' }), ['a.example']);
  assert.deepEqual(search(text, { localDomain: 'b.example c.example' }), [
    'b.example',
    'c.example',
  ]);
  assert.equal(parse(text, { resOptions: 'ndots:3' })?.ndots, 3);
});

test('what only the C library can do is left to it', () => {
  for (const text of ['', 'search a', 'nameserver ::1\nsortlist 192.0.2.0']) {
    assert.equal(parse(text), undefined);
  }
  assert.equal(parse('nameserver ::1\noptions use-vc'), undefined);
});

test('names with enough dots are asked as they are first, others last', () => {
  const conf = parse('nameserver ::1\nsearch a.example b.example\noptions ndots:2');
  assert.ok(conf);
  assert.deepEqual(searchNames('x.y.z', conf), ['x.y.z', 'x.y.z.a.example', 'x.y.z.b.example']);
  assert.deepEqual(searchNames('x.y', conf), ['x.y.a.example', 'x.y.b.example', 'x.y']);
  const long = `${'a.'.repeat(122)}example`;
  assert.deepEqual(searchNames(long, conf), [long], 'what would be too long is left out');
});
