import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  HeadMemory,
  HeadScanner,
  readHead,
  startsRequest,
  startsResponse,
} from '../../../src/http1/read-head.ts';
import { HEAD_LIMIT, LEAST_HEAD_BYTES, MAX_ALL_HEAD_BYTES } from '../../../src/limits.ts';
import { MessageError } from '../../../src/http1/message.ts';
import { linkPair } from '@weir/io/links';

const HEAD = 'GET / HTTP/1.1\r\nA: b\r\n\r\n';

const refused = (status: number) => (error: unknown) =>
  error instanceof MessageError && error.status === status;

/** A link with these chunks to read, and its end after them. */
async function linkOf(...chunks: readonly string[]) {
  const [far, link] = linkPair();
  for (const chunk of chunks) void far.write(Buffer.from(chunk, 'latin1'));
  await far.closeWrite();
  return link;
}

describe('a head that is read from a link', () => {
  test('leaves what follows it in the link, and tells whether anything did', async () => {
    for (const [chunks, followed, rest] of [
      [[HEAD], false, undefined],
      [[`${HEAD}body`], true, 'body'],
      [[HEAD.slice(0, 9), `${HEAD.slice(9)}body`], true, 'body'],
      [HEAD.split(''), false, undefined],
    ] as const) {
      const link = await linkOf(...chunks);
      const head = await readHead(link, startsRequest);
      assert.equal(head && Buffer.from(head.bytes).toString('latin1'), HEAD);
      assert.equal(head?.followed, followed);
      const next = await link.read();
      assert.equal(next && Buffer.from(next).toString('latin1'), rest);
    }
  });

  test('is none at the end of a stream, and truncated in the middle of one', async () => {
    for (const nothing of ['', '\r\n', '\r\n\n\r']) {
      assert.equal(await readHead(await linkOf(nothing), startsRequest), undefined);
    }
    for (const part of ['G', HEAD.slice(0, -1)]) {
      await assert.rejects(readHead(await linkOf(part), startsRequest), refused(400));
    }
  });

  test('of a response begins with the H of HTTP', async () => {
    const head = await readHead(await linkOf('HTTP/1.1 200 OK\r\n\r\n'), startsResponse);
    assert.ok(head);
    await assert.rejects(readHead(await linkOf('200 OK\r\n\r\n'), startsResponse), refused(400));
  });

  test('has no more than its limit', async () => {
    const read = async (limit: number) =>
      readHead(await linkOf(HEAD), startsRequest, undefined, limit);
    assert.ok(await read(HEAD.length));
    await assert.rejects(read(HEAD.length - 1), refused(431));
  });

  test('counts as memory of all until it is complete or has failed', async () => {
    const memory = new HeadMemory();
    const [far, link] = linkPair();
    const reading = readHead(link, startsRequest, undefined, HEAD_LIMIT, memory);
    await far.write(Buffer.from(HEAD.slice(0, 10)));
    await new Promise(setImmediate);
    assert.ok(memory.bytes >= 10);
    await far.write(Buffer.from(HEAD.slice(10)));
    assert.ok(await reading);
    assert.equal(memory.bytes, 0);
    const failing = readHead(
      await linkOf(HEAD.slice(0, 10)),
      startsRequest,
      undefined,
      HEAD_LIMIT,
      memory,
    );
    await assert.rejects(failing, refused(400));
    assert.equal(memory.bytes, 0);
  });
});

test('an unfinished head holds at most twice what it has, and no more than its limit', () => {
  const scanner = new HeadScanner(1000, startsRequest);
  let length = 0;
  for (const part of [
    'GET / HTTP/1.1\r\n',
    'A: '.padEnd(50, 'x'),
    ...Array(93).fill('0123456789'),
  ]) {
    scanner.push(Buffer.from(part));
    length += part.length;
    assert.ok(scanner.held >= length && scanner.held <= Math.min(2 * length, 1000));
  }
});

test('long heads of many links are returned in turns, within the limit of their memory', async () => {
  const LONG = `GET / HTTP/1.1\r\n${'A: b\r\n'.repeat(8000)}\r\n`;
  const fitting = Math.floor(MAX_ALL_HEAD_BYTES / LONG.length);
  const memory = new HeadMemory();
  let [read, refusals] = [0, 0];
  const links = await Promise.all(Array.from({ length: fitting + 3 }, () => linkOf(LONG)));
  for (const link of links) {
    readHead(link, startsRequest, undefined, HEAD_LIMIT, memory).then(
      () => read++,
      (error: unknown) => {
        assert.ok(refused(431)(error));
        refusals++;
      },
    );
  }
  let most = 0;
  for (let before = 0; read + refusals < fitting + 3; before = read) {
    await new Promise(setImmediate);
    most = Math.max(most, read - before);
  }
  assert.ok(most <= 8, `${most} in one turn`);
  assert.equal(refusals, 3);
  assert.equal(memory.bytes, 0);
});

describe('the memory of all unfinished heads', () => {
  test('is what they hold, less what was given back', () => {
    const memory = new HeadMemory();
    const [first, second] = [memory.claim(), memory.claim()];
    first.resize(100);
    second.resize(30);
    first.resize(50);
    assert.equal(memory.bytes, 80);
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    assert.equal(memory.bytes, 30);
  });

  test('has a limit, beyond which each head may be short', () => {
    const memory = new HeadMemory();
    memory.claim().resize(MAX_ALL_HEAD_BYTES - LEAST_HEAD_BYTES - 1);
    const one = memory.claim();
    one.resize(LEAST_HEAD_BYTES + 1);
    assert.equal(memory.bytes, MAX_ALL_HEAD_BYTES);
    const other = memory.claim();
    other.resize(LEAST_HEAD_BYTES);
    assert.throws(() => other.resize(LEAST_HEAD_BYTES + 1), refused(431));
    other[Symbol.dispose]();
    one.resize(LEAST_HEAD_BYTES + 1);
  });
});
