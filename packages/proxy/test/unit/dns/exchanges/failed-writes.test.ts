import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linkPair } from '@weir/io/links';
import { DohOverHttp1 } from '../../../../src/dns/exchanges/doh-over-http1.ts';
import { frame, FramedMessageReader } from '../../../../src/dns/exchanges/exchange.ts';
import { StreamConnection } from '../../../../src/dns/exchanges/tls-exchange.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

const never = new AbortController().signal;
const BROKEN = (): Promise<void> => Promise.reject(new Error('EPIPE'));

test('a stream of DNS messages delivers the replies that precede a reset although a write has failed', async () => {
  const [link, server] = linkPair();
  let ends = 0;
  const connection = new StreamConnection(link, new ManualClock(), () => ends++);
  const first = connection.ask({ name: 'a.example', type: 'A' }, never);
  const query = await new FramedMessageReader(server).next();
  link.write = BROKEN;
  const second = assert.rejects(connection.ask({ name: 'b.example', type: 'A' }, never), {
    code: 'connection_lost',
  });
  await new Promise(setImmediate);
  assert.equal(ends, 1);
  await assert.rejects(connection.ask({ name: 'c.example', type: 'A' }, never));
  const reply = Buffer.from(query);
  reply[2] = 0x81;
  await server.write(frame(reply));
  await server.closeWrite();
  assert.equal((await first).rcode, 0);
  await second;
  assert.equal(connection.answered, 1);
  assert.equal(ends, 1);
});

test('HTTP/1.1 delivers the response that precedes a reset although a write has failed', async () => {
  const [link, server] = linkPair();
  link.write = BROKEN;
  const connection = new DohOverHttp1({
    first: link,
    another: () => Promise.reject(new Error('refused')),
    target: { host: 'dns.test', path: '/' },
    clock: new ManualClock(),
    onEnd: () => undefined,
  });
  const posted = connection.post(Buffer.alloc(12), never);
  await server.write(
    Buffer.from(
      'HTTP/1.1 200 OK\r\ncontent-type: application/dns-message\r\ncontent-length: 2\r\n\r\nok',
    ),
  );
  assert.equal(String((await posted).body), 'ok');
  connection.end();
});
