import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { ProtocolError } from '@weir/io';
import { linkPair } from '@weir/io/links';
import { frame, FramedMessageReader } from '../../../../src/dns/exchanges/exchange.ts';

test('a message stands behind its length', () => {
  assert.deepEqual(frame(Buffer.from('abc')), Buffer.from('\0\x03abc'));
});

test('messages come out whole, however the stream is split into chunks', async () => {
  const messages = fc.array(fc.uint8Array({ maxLength: 400, size: 'max' }), { maxLength: 6 });
  const cuts = fc.infiniteStream(fc.integer({ min: 1, max: 300 }));
  await fc.assert(
    fc.asyncProperty(messages, cuts, async (sent, sizes) => {
      const [near, far] = linkPair();
      const bytes = Buffer.concat(sent.map(frame));
      for (let at = 0; at < bytes.length;) {
        const { value: size } = sizes.next() as { value: number };
        void near.write(bytes.subarray(at, at + size));
        at += size;
      }
      await near.closeWrite();
      const reader = new FramedMessageReader(far);
      for (const message of sent) assert.deepEqual(await reader.next(), Buffer.from(message));
      await assert.rejects(reader.next(), ProtocolError);
    }),
  );
});

test('a stream that ends within a message is a named error', async () => {
  const [near, far] = linkPair();
  void near.write(Buffer.of(0, 5, 1, 2));
  await near.closeWrite();
  await assert.rejects(new FramedMessageReader(far).next(), ProtocolError);
});
