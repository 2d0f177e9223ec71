import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { DialError } from '@weir/io';
import { packetPair } from '@weir/io/links';
import { WeirAssociation } from '../../../src/library/association.ts';

const PEER = { host: '192.0.2.1', port: 9 };

/** Calls `work` and resolves with the uncaught exception that follows. */
async function uncaughtAfter(work: () => void): Promise<unknown> {
  // The listener of the test runner would fail the test.
  const others = process.rawListeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  try {
    const caught = once(process, 'uncaughtException');
    work();
    return (await caught)[0];
  } finally {
    for (const other of others) process.on('uncaughtException', other as (error: Error) => void);
  }
}

test('what a listener throws is an uncaught exception, and the association goes on', async () => {
  const [link, client] = packetPair();
  let report: ((error: DialError) => void) | undefined;
  const association = new WeirAssociation((onFailure) => {
    report = (error) => onFailure(PEER, error);
    return link;
  });
  const boom = new Error('boom');
  const fail = (): never => {
    throw boom;
  };
  association.on('unreachable', fail).on('message', fail).on('close', fail);
  assert.equal(await uncaughtAfter(() => report?.(new DialError('blocked', 'no'))), boom);
  for (let count = 0; count < 2; count++) {
    const send = (): void => client.send({ data: Buffer.from('x'), peer: PEER });
    assert.equal(await uncaughtAfter(send), boom);
  }
  assert.equal(await uncaughtAfter(() => association.close()), boom);
});

test('a datagram to what is no host or port is an error of the caller', () => {
  const [link] = packetPair();
  const association = new WeirAssociation(() => link);
  const to = (peer: object) => () => association.send('x', peer as typeof PEER);
  assert.throws(to({ port: 9 }), TypeError);
  assert.throws(to({ host: 5, port: 9 }), TypeError);
  assert.throws(to({ host: 'a', port: 65_536 }), RangeError);
  association.close();
});
