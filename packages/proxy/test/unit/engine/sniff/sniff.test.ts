import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { linkPair } from '@weir/io/links';
import { sniff, SNIFF_LIMIT, SNIFF_TIMEOUT_MS, sniffAhead } from '../../../../src/engine/sniff.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { OPENSSL } from '../../../../../../test/support/engine/sniff/client-hello.ts';
import { readAll } from '../../../../../../test/support/read-link.ts';

test('the name is found over chunks of any size, and every byte is given back', async () => {
  const stream = Buffer.concat([OPENSSL.tls13, Buffer.from('early data of the client')]);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(stream.length), { maxLength: 8 }), async (cuts) => {
      const [client, link] = linkPair();
      let from = 0;
      for (const cut of [...cuts.sort((a, b) => a - b), stream.length]) {
        void client.write(stream.subarray(from, cut));
        from = cut;
      }
      await client.closeWrite();
      assert.equal(await sniff(link, { clock: new ManualClock() }), 'example.com');
      assert.deepEqual(await readAll(link), stream);
    }),
    { numRuns: 50 },
  );
});

test('a stream that ends before its name has none, and still ends', async () => {
  const [client, link] = linkPair();
  await client.write(OPENSSL.tls13.subarray(0, 20));
  await client.closeWrite();
  assert.equal(await sniff(link, { clock: new ManualClock() }), undefined);
  assert.equal((await readAll(link)).length, 20);
  assert.equal(await link.read(), undefined);
});

test('a client that is silent is waited for no longer than the limit', async () => {
  const clock = new ManualClock();
  const [client, link] = linkPair();
  await client.write(OPENSSL.tls13.subarray(0, 20));
  const sniffed = sniff(link, { clock });
  clock.advance(SNIFF_TIMEOUT_MS);
  assert.equal(await sniffed, undefined);
  assert.equal(clock.timers, 0);
  await client.write(OPENSSL.tls13.subarray(20));
  await client.closeWrite();
  assert.deepEqual(await readAll(link), OPENSSL.tls13);
});

test('the caller can end the wait, before it begins as well', async () => {
  const [client, link] = linkPair();
  const stop = new AbortController();
  const clock = new ManualClock();
  const sniffed = sniff(link, { clock, signal: stop.signal });
  stop.abort(new Error('the server spoke first'));
  assert.equal(await sniffed, undefined);
  assert.equal(await sniff(link, { clock, signal: stop.signal }), undefined);
  assert.equal(clock.timers, 0);
  await client.write(OPENSSL.tls13);
  assert.deepEqual(await link.read(), OPENSSL.tls13);
});

test('bytes of another protocol end sniffing at once', async () => {
  const [client, link] = linkPair();
  await client.write(Buffer.from('SSH-2.0-OpenSSH_9.9\r\n'));
  assert.equal(await sniff(link, { clock: new ManualClock() }), undefined);
  assert.equal(String(await link.read()), 'SSH-2.0-OpenSSH_9.9\r\n');
});

test('no more than the limit is looked at', async () => {
  const head = `GET / HTTP/1.1\r\nCookie: ${'x'.repeat(SNIFF_LIMIT)}\r\nHost: example.com\r\n`;
  for (const size of [1000, head.length]) {
    const [client, link] = linkPair();
    for (let at = 0; at < head.length; at += size) {
      void client.write(Buffer.from(head.slice(at, at + size)));
    }
    assert.equal(await sniff(link, { clock: new ManualClock() }), undefined);
    await client.closeWrite();
    assert.equal((await readAll(link)).toString(), head);
  }
});

test('a link that fails has no name, and the next reader meets the failure', async () => {
  const [client, link] = linkPair();
  const sniffed = sniff(link, { clock: new ManualClock() });
  const cause = new Error('reset by peer');
  client.destroy(cause);
  assert.equal(await sniffed, undefined);
  await assert.rejects(link.read(), cause);
});

test('what a link holds already is sniffed without a wait, and stays', () => {
  const NAMELESS = { done: true, domain: undefined };
  const long = Buffer.concat([
    Buffer.from('GET / HTTP/1.1\r\nx: '),
    Buffer.alloc(SNIFF_LIMIT, 0x61),
  ]);
  for (const [held, expected] of [
    [OPENSSL.tls13, { done: true, domain: 'example.com' }],
    [OPENSSL.tls13.subarray(0, 20), { done: false }],
    [Buffer.from('neither'), NAMELESS],
    [long, NAMELESS],
    [long.subarray(0, SNIFF_LIMIT), NAMELESS],
    [long.subarray(0, SNIFF_LIMIT - 1), { done: false }],
  ] as const) {
    const ahead: Uint8Array[] = [held];
    const link = {
      takeAhead: () => ahead.pop(),
      unread: (chunk: Uint8Array) => void ahead.push(chunk),
    };
    assert.deepEqual(sniffAhead(link), expected);
    assert.deepEqual(ahead, [held]);
  }
  const unread = (): void => assert.fail();
  assert.deepEqual(sniffAhead({ takeAhead: () => undefined, unread }), {
    done: false,
  });
  assert.deepEqual(sniffAhead({ unread }), { done: false });
});
