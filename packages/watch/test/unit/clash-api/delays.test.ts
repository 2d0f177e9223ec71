import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { delayTestOf } from '../../../src/clash-api/answers/proxies.ts';
import {
  DelayTester,
  Semaphore,
  isExpected,
  parseExpected,
  DelayHistory,
} from '../../../src/clash-api/delays.ts';
import type { OutboundFlows } from '@weir/nodes/fetch';
import { SocketLink } from '@weir/io/sockets';
import { systemClock } from '@weir/io/time';
import { tcpServer } from '../../../../../test/support/peers/servers.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';

describe('the query of a delay test', () => {
  const parsed = (query: string, of: 'proxy' | 'group' = 'proxy') =>
    delayTestOf(new URLSearchParams(query), of);

  test('has a URL, a time limit and statuses', () => {
    assert.deepEqual(parsed('url=http%3A%2F%2Fa%2F&timeout=2000&expected=200/204-206'), {
      url: 'http://a/',
      timeoutMs: 2000,
      expected: [
        { low: 200, high: 200 },
        { low: 204, high: 206 },
      ],
    });
  });

  for (const query of [
    '',
    'url=http://a/',
    'timeout=abc',
    'timeout=1.5',
    'timeout=32768',
    'timeout=2000&expected=x',
    'timeout=2000&expected=1-2-3',
    `timeout=2000&url=${'a'.repeat(5000)}`,
  ]) {
    test(`${query.slice(0, 40)} is invalid`, () =>
      assert.throws(() => parsed(query), { status: 400, message: 'Body invalid' }));
  }

  test('of a group may allow more time, which is bounded', () => {
    assert.equal(parsed('timeout=2147483647', 'group').timeoutMs, 60_000);
  });

  test('any text of statuses is ranges or invalid', () => {
    const text = fc.oneof(fc.string(), fc.stringMatching(/^[-\d/,[\] *]{0,40}$/));
    fc.assert(
      fc.property(text, fc.integer({ min: 100, max: 599 }), (expected, status) => {
        const ranges = parseExpected(expected);
        if (ranges) assert.equal(typeof isExpected(ranges, status), 'boolean');
      }),
    );
    assert.equal(isExpected(parseExpected('200,302-304') ?? [], 303), true);
    assert.equal(isExpected(parseExpected('200,302-304') ?? [], 404), false);
    assert.equal(isExpected(parseExpected(' * ') ?? [], 404), true);
  });
});

describe('delay tests', () => {
  const directly: OutboundFlows = {
    open: async (outbound, { host, port }) => {
      if (outbound === 'down') throw new Error('refused');
      const socket = connect({ host, port, allowHalfOpen: true });
      await once(socket, 'connect');
      return { link: new SocketLink(socket), outbound, times: {}, suspect: undefined };
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };

  test('measure each proxy by one HEAD request of any status, and record the result', async () => {
    const requests: string[] = [];
    await using server = await tcpServer((socket) => {
      socket.once('data', (data: Buffer) => {
        requests.push(data.toString('latin1').split('\r\n')[0] ?? '');
        socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n');
      });
    });
    const history = new DelayHistory(() => 0);
    const tester = new DelayTester(directly, systemClock, history);
    const url = `http://127.0.0.1:${server.port}/x`;
    const subjects = ['up', 'down', 'none'].map((tag) => ({
      name: tag,
      tag: tag === 'none' ? undefined : tag,
    }));
    const outcomes = await tester.test(subjects, {
      url,
      timeoutMs: 5000,
      expected: [{ low: 200, high: 299 }],
    });
    assert.deepEqual(
      Array.from(outcomes, ([name, { kind }]) => [name, kind]),
      [
        ['up', 'measured'],
        ['down', 'failed'],
        ['none', 'failed'],
      ],
    );
    assert.deepEqual(requests, ['HEAD /x HTTP/1.1']);
    assert.equal(history.of('up').alive, true);
    assert.equal(history.of('up').extra[url]?.alive, false, 'its status was not expected');
    assert.equal(history.of('down').alive, false);
  });

  test('end with their time limit', async () => {
    const clock = new ManualClock();
    const silent: OutboundFlows = {
      open: (_tag, _target, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
    const tester = new DelayTester(silent, clock, new DelayHistory(() => 0));
    const wanted = { url: 'http://a/', timeoutMs: 2000, expected: [] };
    const outcomes = tester.test([{ name: 'a', tag: 'a' }], wanted);
    clock.advance(2000);
    assert.deepEqual((await outcomes).get('a'), { kind: 'timeout' });
    const none = await tester.test([{ name: 'a', tag: 'a' }], { ...wanted, timeoutMs: 0 });
    assert.deepEqual(none.get('a'), { kind: 'timeout' });
  });

  test('need a URL of HTTP', async () => {
    const tester = new DelayTester(directly, systemClock, new DelayHistory(() => 0));
    for (const url of ['', 'ftp://a/', 'no url']) {
      const outcomes = await tester.test([{ name: 'a', tag: 'a' }], {
        url,
        timeoutMs: 1000,
        expected: [],
      });
      assert.deepEqual(outcomes.get('a'), { kind: 'failed' });
    }
  });
});

test('the history of delays is bounded in results, URLs and proxies', () => {
  const history = new DelayHistory(() => 0);
  for (let at = 0; at < 20; at++) history.add('a', `http://${at}/`, at + 1, true);
  const { history: results, extra } = history.of('a');
  assert.deepEqual(
    results.map(({ delay }) => delay),
    [11, 12, 13, 14, 15, 16, 17, 18, 19, 20],
  );
  assert.equal(Object.keys(extra).length, 8);
  for (let at = 0; at < 10_000; at++) history.add(`p${at}`, '', 1, true);
  assert.deepEqual(history.of('a').history, []);
});

test('a queue runs a bounded number of tasks, and an aborted wait takes no place', async () => {
  const queue = new Semaphore(1);
  const first = Promise.withResolvers<void>();
  const never = new AbortController();
  const order: string[] = [];
  const running = queue.run(() => first.promise, never.signal);
  const abort = new AbortController();
  const aborted = queue.run(() => Promise.resolve(order.push('aborted')), abort.signal);
  const last = queue.run(() => Promise.resolve(order.push('last')), never.signal);
  abort.abort(new Error('over'));
  await assert.rejects(aborted, /over/);
  assert.deepEqual(order, []);
  first.resolve();
  await Promise.all([running, last]);
  assert.deepEqual(order, ['last']);
  await queue.run(() => Promise.resolve(), never.signal);
});
