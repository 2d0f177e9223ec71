import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ForeignObject, ImportError } from '@weir/proxy/protocols/forms';
import { both, levelOf, type Matchers } from '../../../src/import/routing.ts';
import { secondsOf } from '../../../src/import/sing-box/inbounds.ts';
import { expressionOf, literally } from '../../../src/import/values/expressions.ts';
import { logLevelOf } from '../../../src/import/sing-box/sing-box.ts';
import {
  everyAddress,
  isVersion6,
  networkOf,
  portRangeOf,
} from '../../../src/import/values/networks.ts';

const refusal = (reason: RegExp) => (error: unknown) =>
  error instanceof ImportError && reason.test(error.message);

describe('a duration', () => {
  test('is whole seconds, at least one, of what Go writes or of a number of them', () => {
    for (const [text, seconds] of [
      ['300', 300],
      ['0', 1],
      ['999999999', 999_999_999],
      ['1s', 1],
      ['1m30s', 90],
      ['1h2m3s', 3723],
      ['2d', 172_800],
      ['1.5s', 2],
      ['1.4s', 1],
      ['0.5h', 1800],
      ['2500ms', 3],
      ['1ms', 1],
      ['3000000us', 3],
      ['3000000µs', 3],
      ['999999999ns', 1],
      ['500000000s500000000s', 1_000_000_000],
      ['0s', 1],
    ] as const) {
      assert.equal(secondsOf(text), seconds, text);
    }
  });

  test('is none with a unit, a sign or a length that is no duration', () => {
    for (const text of [
      '',
      's',
      '1x',
      '1w',
      '1ss',
      '1m 30s',
      '1m30',
      'x1s',
      '1sx',
      '-1s',
      '+1s',
      '1.s',
      '.5s',
      '1,5s',
      '1S',
      '1234567890',
      '1234567890s',
      '99999999d',
      `${'1s'.repeat(20)}1s`,
    ]) {
      assert.equal(secondsOf(text), undefined, text);
    }
    assert.equal(secondsOf('1s'.repeat(20)), 20);
  });
});

describe('ports', () => {
  test('are one or a range, with spaces around them', () => {
    for (const [value, separator, ports] of [
      [443, ':', '443'],
      ['443', '-', '443'],
      [' 443 ', ':', '443'],
      ['1000:2000', ':', '1000-2000'],
      [' 1000 : 2000 ', ':', '1000-2000'],
      ['1000-2000', '-', '1000-2000'],
      ['80-80', '-', '80'],
      ['0-65535', '-', '0-65535'],
      // sing-box may leave out an end of a range.
      [':2000', ':', '0-2000'],
      ['1000:', ':', '1000-65535'],
      [':', ':', '0-65535'],
    ] as const) {
      assert.equal(portRangeOf(value, separator), ports, String(value));
    }
  });

  test('are refused otherwise, with what was written', () => {
    for (const [value, separator] of [
      ['', ':'],
      ['', '-'],
      ['-', '-'],
      ['-80', '-'],
      ['80-', '-'],
      ['1-2-3', '-'],
      ['1:2:3', ':'],
      ['2000:1000', ':'],
      ['65536', '-'],
      ['1:65536', ':'],
      ['1000-2000', ':'],
      ['1000:2000', '-'],
      ['x', '-'],
      ['8x', '-'],
      ['x8', '-'],
      ['123456', '-'],
      [undefined, '-'],
      [1.5, '-'],
    ] as const) {
      assert.throws(
        () => portRangeOf(value, separator),
        refusal(/is not a port or a range of ports$/),
      );
    }
    assert.throws(() => portRangeOf(' x ', '-'), refusal(/^"x" is not a port/));
  });
});

describe('an expression', () => {
  test('that means the same in Go and in Rust stays as it is', () => {
    for (const pattern of [
      '',
      String.raw`^(?:a|b)\.example$`,
      '[a-z]+',
      '[^]a]',
      '[]a]',
      '[[:alpha:]_]',
      '[[:alpha:][:digit:]]',
      String.raw`\[[a]`,
      String.raw`[\[]`,
      '[a][b]',
      'a[b]c[d]e',
      'a]b',
      '[[:alpha:',
      'a{2,3}',
      '[a-]',
      '&~',
    ]) {
      assert.equal(expressionOf(pattern), pattern);
    }
  });

  test('that means something else in Rust is refused', () => {
    for (const pattern of [
      '[a&&b]',
      '[a--b]',
      '[a~~b]',
      'a{,3}',
      '[a[b]]',
      '[[a]]',
      '[^[a]]',
      '[][a]]',
      '[^][a]]',
      '[[:alpha:][a]]',
      '[a]b[c[d]]',
      String.raw`[\\[a]]`,
    ]) {
      assert.throws(() => expressionOf(pattern), refusal(/something else in Weir's regular/));
    }
  });

  test('of a text matches it and nothing else', () => {
    const text = String.raw`\.+*?()|[]{}^$aZ0-_/`;
    const expression = new RegExp(`^${literally(text)}$`);
    assert.ok(expression.test(text));
    assert.equal(literally('a.b'), String.raw`a\.b`);
    assert.equal(literally('aZ0-_/'), 'aZ0-_/');
  });
});

describe('a network', () => {
  test('loses its host bits', () => {
    for (const [text, network] of [
      ['10.1.2.3/8', '10.0.0.0/8'],
      [' 10.1.2.3 ', '10.1.2.3/32'],
      ['192.0.2.255/25', '192.0.2.128/25'],
      ['192.0.2.255/0', '0.0.0.0/0'],
      ['2001:DB8:ffff::1/33', '2001:db8:8000::/33'],
      ['2001:db8::1', '2001:db8::1/128'],
    ] as const) {
      assert.equal(networkOf(text), network);
    }
    for (const text of ['', 'a.example', '10.0.0.0/33', '10.0.0.0/x']) {
      assert.throws(() => networkOf(text), refusal(/^it is not a network$/));
    }
  });

  test('is of IPv6 when its text has a colon', () => {
    assert.deepEqual([everyAddress(4), everyAddress(6)].map(isVersion6), [false, true]);
    assert.deepEqual([everyAddress(4), everyAddress(6)].map(networkOf), ['0.0.0.0/0', '::/0']);
  });
});

test('a level of a log is that of Weir which shows as much', () => {
  for (const [name, level] of [
    ['silent', 'off'],
    ['WARNING', 'warn'],
    ['panic', 'error'],
    ['debug', 'debug'],
    ['verbose', undefined],
    ['', undefined],
  ] as const) {
    assert.equal(levelOf(name), level);
  }
  assert.equal(logLevelOf(new ForeignObject({ level: 'info' })), 'info');
  assert.equal(logLevelOf(new ForeignObject({ level: 'info', disabled: true })), 'off');
  assert.equal(logLevelOf(new ForeignObject({ level: 'info', disabled: false })), 'info');
  assert.equal(logLevelOf(new ForeignObject({})), undefined);
});

describe('two conditions that both have to hold', () => {
  const a: Matchers = { domain_full: ['a'] };
  const b: Matchers = { domain_full: ['b'] };
  const port: Matchers = { port: ['80'] };

  test('are every pair of their alternatives', () => {
    assert.deepEqual(both([a, b], [port]), [
      { ...a, ...port },
      { ...b, ...port },
    ]);
    assert.deepEqual(both([], [port]), []);
    assert.deepEqual(both([{}], [port]), [port]);
    assert.deepEqual(both([a], [a]), [a]);
  });

  test('match nothing where one is of TCP and the other of UDP', () => {
    const [tcp, udp]: readonly Matchers[] = [{ network: 'tcp' }, { network: 'udp' }];
    assert.ok(tcp && udp);
    assert.deepEqual(both([tcp], [udp]), []);
    assert.deepEqual(both([tcp, udp], [{ ...udp, ...port }]), [{ ...udp, ...port }]);
    assert.deepEqual(both([tcp], [tcp]), [tcp]);
  });

  test('are refused when a rule of Weir cannot say them, or would become too many', () => {
    assert.throws(
      () => both([a], [b]),
      refusal(/^it has two conditions on "domain_full", of which both would have to hold$/),
    );
    const eight = Array.from({ length: 8 }, () => a);
    assert.equal(both(eight, eight).length, 64);
    assert.throws(() => both(eight, [...eight, a]), refusal(/more than 64 rules/));
  });
});
