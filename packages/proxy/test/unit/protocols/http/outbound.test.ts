import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Account } from '../../../../src/protocols/users/account-table.ts';
import { Deadline } from '@weir/io/time';
import { DialError } from '@weir/io';
import { type ByteLink, linkPair } from '@weir/io/links';
import { createHttpOutbound } from '../../../../src/protocols/http/outbound.ts';
import { failureLine } from '../../../../../../test/support/data/harmless-output.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { KeptObjects } from '@weir/base/collections';
import { OwnListeners } from '@weir/io/net/own-listeners';
import { settle } from '../../../../../../test/support/settle.ts';
import {
  carrierOf,
  Peer,
  quietLog,
} from '../../../../../../test/support/protocols/http/support.ts';

/** An outbound whose upstream proxy is the test. */
function start(account?: Account) {
  const [ours, theirs] = linkPair();
  const outbound = createHttpOutbound(
    { account },
    {
      tag: 'up',
      family: 'auto',
      resolver: { resolve: () => Promise.reject(new Error('nothing is resolved here')) },
      clock: new ManualClock(),
      log: quietLog,
      ownListeners: new OwnListeners(),
      shared: new KeptObjects(),
      server: { host: 'proxy.example', port: 3128 },
      dial: () => Promise.resolve(carrierOf(ours)),
    },
  );
  const connect = (host = 'a.example', signal = new AbortController().signal): Promise<ByteLink> =>
    outbound.connect({ host, port: 443 }, { signal });
  return { outbound, connect, proxy: new Peer(theirs) };
}

const failsAs = (code: string, message: RegExp) => (error: unknown) =>
  error instanceof DialError && error.code === code && message.test(error.message);

describe('an outbound over an HTTP proxy', () => {
  test('sends its credentials, and IPv6 in brackets', async () => {
    const { connect, proxy } = start({ user: 'ann', pass: 'a:b' });
    const connecting = connect('2001:db8::1');
    assert.equal(
      await proxy.head(),
      'CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n' +
        `Proxy-Authorization: Basic ${Buffer.from('ann:a:b').toString('base64')}`,
    );
    // A length is ignored in the response to a CONNECT (RFC 9112 §6.3).
    await proxy.send('HTTP/1.0 204 Fine\nContent-Length: 7\n\n');
    await connecting;
  });

  test('waits for the response after interim ones', async () => {
    const { connect, proxy } = start();
    const connecting = connect();
    await proxy.head();
    await proxy.send('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hint\r\n\r\nHTTP/1.1 200\r\n\r\n');
    await connecting;
  });

  const rejections: readonly (readonly [string, string, RegExp])[] = [
    ['HTTP/1.1 403 Forbidden', 'upstream', /up: a\.example:443: the proxy responded 403 Forbidden/],
    ['HTTP/1.1 407 Who are you', 'upstream', /rejected the credentials \(407 Who are you\)/],
    ['HTTP/1.1 502 Bad Gateway', 'upstream', /502 Bad Gateway/],
    ['HTTP/1.1 504 Gateway Timeout', 'timed_out', /504 Gateway Timeout/],
    ['HTTP/1.1 301', 'upstream', /the proxy responded 301$/],
    ['HTTP/1.1 101 Switching', 'upstream', /101 Switching/],
    ['SSH-2.0-x', 'upstream', /not HTTP/],
    ['HTTP/0.9 200 OK', 'upstream', /malformed|not supported/],
    ['', 'upstream', /closed without a response/],
    ['HTTP/1.1 200 OK\r\nX:', 'upstream', /closed in the middle/],
  ];
  for (const [response, code, message] of rejections) {
    test(`fails as ${code} on the response ${JSON.stringify(response)}`, async () => {
      const { connect, proxy } = start({ user: 'ann', pass: 'secret' });
      const refused = assert.rejects(connect(), (error: unknown) => {
        assert.ok(failsAs(code, message)(error), String(error));
        return !String(error).includes('secret');
      });
      await proxy.head();
      const whole = response.endsWith(':') || response === '' ? response : `${response}\r\n\r\n`;
      await proxy.send(whole);
      await proxy.end();
      await refused;
      await assert.rejects(proxy.send('x'), 'the carrier is released');
    });
  }

  test('fails on a reason phrase with escapes, which the log writes escaped', async () => {
    const failure = async (reason: string): Promise<string> => {
      const { connect, proxy } = start();
      const failed = failureLine(connect());
      await proxy.head();
      await proxy.send(`HTTP/1.1 403 ${reason}\r\n\r\n`).catch(() => undefined);
      return failed;
    };
    // One byte of latin1, which HTTP allows, is a control character of the second set.
    assert.match(await failure('no\u009b31m'), /the proxy responded 403 no\\u\{9b\}31m\n$/);
    assert.match(await failure('no\u001b[2J'), /the proxy responded 403 no \[2J\n$/);
  });

  test('does not read interim responses without end', async () => {
    const { connect, proxy } = start();
    const refused = assert.rejects(connect(), failsAs('upstream', /sent no final response/));
    await proxy.head();
    await proxy.send('HTTP/1.1 100 Continue\r\n\r\n'.repeat(100)).catch(() => undefined);
    await refused;
  });

  test('does not read a head without end', async () => {
    const { connect, proxy } = start();
    const refused = assert.rejects(connect(), failsAs('upstream', /longer than 65536 bytes/));
    await proxy.head();
    await proxy.send(`HTTP/1.1 200 OK\r\nX: ${'y'.repeat(70_000)}`).catch(() => undefined);
    await refused;
  });

  test('is aborted with the dial, with its reason', async () => {
    const clock = new ManualClock();
    const deadline = new Deadline(clock, 10_000, 'the dial');
    const late = start();
    const timedOut = assert.rejects(
      late.connect('a.example', deadline.signal),
      failsAs('timed_out', /longer than 10 s/),
    );
    await settle();
    clock.advance(10_000);
    await timedOut;
    await assert.rejects(late.proxy.send('x'));

    const stop = new AbortController();
    const stopped = start();
    const aborted = assert.rejects(
      stopped.connect('a.example', stop.signal),
      failsAs('aborted', /the process is stopping/),
    );
    await settle();
    stop.abort(new Error('the process is stopping'));
    await aborted;
  });

  test('does not accept a name that would alter its request', async () => {
    const names = [
      'a\r\nX: y',
      'a b',
      'a\0',
      '',
      'a:b',
      'a/b',
      'u@a',
      'ä',
      '[::1]',
      'fe80::1%eth0',
    ];
    for (const host of names) {
      const { connect } = start();
      await assert.rejects(connect(host), DialError, JSON.stringify(host));
    }
  });
});
