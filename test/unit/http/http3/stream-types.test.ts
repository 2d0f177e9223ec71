import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFirstVarint } from '../../../../src/http/http3/stream-types.ts';
import { linkPair } from '../../../../src/net/links/memory-link.ts';
import { TRUNCATED } from '../../../../src/quic/wire/varint.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

/** What is read of a stream that brings these chunks, and then its end. */
async function firstOf(...chunks: readonly string[]) {
  const [link, peer] = linkPair();
  for (const chunk of chunks) await peer.write(hex(chunk));
  await peer.closeWrite();
  const { value, bytes, size } = await readFirstVarint(link);
  return { value, bytes: Buffer.from(bytes).toString('hex'), size, rest: await link.read() };
}

test('a stream begins with an integer of any size (RFC 9114 §6.2)', async () => {
  for (const [text, value, size] of [
    ['00', 0, 1],
    ['03 0102', 3, 1],
    ['4021', 0x21, 2],
    ['4401 aa', 0x401, 2],
    ['80004021 aabb', 0x4021, 4],
    ['c000000000000401 aa', 0x401, 8],
  ] as const) {
    const { rest, ...first } = await firstOf(text);
    assert.deepEqual(first, { value, bytes: text.replaceAll(' ', ''), size });
    assert.equal(rest, undefined);
  }
});

test('the integer is the same when its octets arrive one by one', async () => {
  const first = await firstOf('c0', '00', '00', '00', '00', '00', '04', '01');
  assert.deepEqual(first, { value: 0x401, bytes: 'c000000000000401', size: 8, rest: undefined });
});

test('what follows the integer in the same chunk is kept, later chunks are not read', async () => {
  const first = await firstOf('44', '01aabb', 'cc');
  assert.deepEqual([first.value, first.bytes, first.size], [0x401, '4401aabb', 2]);
  assert.deepEqual(Buffer.from(first.rest ?? []), hex('cc'));
});

test('a stream that ends within the integer, or before it, is truncated (RFC 9114 §6.2)', async () => {
  assert.deepEqual(await firstOf(), { value: TRUNCATED, bytes: '', size: 0, rest: undefined });
  assert.deepEqual(await firstOf('80', '0000'), {
    value: TRUNCATED,
    bytes: '800000',
    size: 3,
    rest: undefined,
  });
});
