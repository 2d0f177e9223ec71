import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LEAST_HEAD_BYTES, MAX_ALL_HEAD_BYTES } from '../../../../../http/src/limits.ts';
import { linkPair, type ByteLink } from '@weir/io/links';
import { atOnce } from '@weir/io/time';
import { createHttpInbound, httpAccounts } from '../../../../src/protocols/http/inbound.ts';
import {
  carrierOf,
  ScriptedEngine,
  session,
} from '../../../../../../test/support/protocols/http/support.ts';
import { inboundContext } from '../../../../../../test/support/protocols/inbound-context.ts';

const LONG = 60_000;

/** An inbound, and a function that opens a connection to it. */
function openInbound(): () => ByteLink {
  const dispatcher = new ScriptedEngine();
  const settings = { accounts: [{ user: 'mia', pass: 's3cret' }], allowTransparent: false };
  const context = inboundContext('http-in', { dispatcher, clock: dispatcher.clock });
  const inbound = createHttpInbound(atOnce(httpAccounts(settings)), context, settings);
  return () => {
    const [near, far] = linkPair();
    void inbound.serve(carrierOf(far), session).catch(() => undefined);
    return near;
  };
}

/** A request head of that many bytes without its end. */
const unfinished = (bytes: number): Buffer => {
  const start = 'GET http://a/ HTTP/1.1\r\nHost: a\r\nX: ';
  return Buffer.from(start + 'x'.repeat(bytes - start.length));
};

const statusOf = async (link: ByteLink): Promise<string> => {
  const chunk = await link.read();
  return Buffer.from(chunk ?? []).toString('latin1', 9, 12);
};

test('long heads without an end share a bound of memory, beyond which only short ones have room', async () => {
  const connect = openInbound();
  const holders = Array.from({ length: Math.floor(MAX_ALL_HEAD_BYTES / LONG) }, connect);
  for (const holder of holders) await holder.write(unfinished(LONG));
  const rejected = connect();
  await rejected.write(unfinished(LONG));
  assert.equal(await statusOf(rejected), '431');
  // A head of the usual length is served beside them, in two writes.
  const short = connect();
  const head = unfinished(LEAST_HEAD_BYTES / 2);
  await short.write(head);
  await short.write(Buffer.from('\r\n\r\n'));
  assert.equal(await statusOf(short), '407');
  // What a client held is free when it has left.
  for (const holder of holders.slice(0, 2)) holder.destroy(new Error('left'));
  const next = connect();
  await next.write(unfinished(LONG));
  await next.write(Buffer.from('\r\n\r\n'));
  assert.equal(await statusOf(next), '407');
  for (const holder of holders.slice(2)) holder.destroy(new Error('left'));
});
