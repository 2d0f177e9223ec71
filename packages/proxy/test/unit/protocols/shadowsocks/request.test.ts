import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ProtocolError } from '@weir/io';
import { linkPair } from '@weir/io/links';
import { readAtLeast } from '../../../../src/protocols/shadowsocks/request.ts';

/** Reads `length` bytes after `head` from a stream of these chunks, which ends after them. */
async function read(chunks: readonly string[], length: number, head = ''): Promise<string> {
  const [far, link] = linkPair();
  for (const chunk of chunks) void far.write(Buffer.from(chunk));
  await far.closeWrite();
  const { signal } = new AbortController();
  return String(await readAtLeast({ link, signal }, length, Buffer.from(head)));
}

describe('the bytes that a request needs', () => {
  test('are read in any chunks, with what comes in the last one', async () => {
    assert.equal(await read(['abcdef'], 4), 'abcdef');
    assert.equal(await read(['a', 'b', 'c', 'defgh', 'i'], 4), 'abcdefgh');
    assert.equal(await read(['c', 'd', 'e'], 4, 'ab'), 'abcd');
    assert.equal(await read([], 2, 'ab'), 'ab');
  });

  test('are truncated where the stream ends before them', async () => {
    for (const chunks of [[], ['abc'], ['a', 'b', 'c']]) {
      await assert.rejects(read(chunks, 4), ProtocolError);
    }
  });
});
