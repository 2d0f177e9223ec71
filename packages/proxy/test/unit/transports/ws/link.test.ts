import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ByteLink, linkPair } from '@weir/io/links';
import {
  CloseCode,
  closePayload,
  Opcode,
  wholeFrame,
  WsFrameDecoder,
  WsFrameError,
} from '../../../../src/transports/ws/frames.ts';
import { WsLink } from '../../../../src/transports/ws/link.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';

test('the Pings of one read have one Pong, with the data of the last', async () => {
  const [near, far] = linkPair();
  const link = new WsLink(near, { clock: new ManualClock() });
  const key = Uint8Array.of(1, 2, 3, 4);
  const pings = Array.from({ length: 1000 }, (_, i) =>
    wholeFrame(Opcode.ping, [Buffer.from(`${i}`)], key),
  );
  const data = wholeFrame(Opcode.binary, [Buffer.from('data')], key);
  await far.write(Buffer.concat([...pings, data]));
  assert.equal(String(await link.read()), 'data');
  const sent = await far.read();
  assert.deepEqual(sent && Buffer.from(sent), wholeFrame(Opcode.pong, [Buffer.from('999')]));
  link.destroy();
  // Nothing but what ends it follows.
  const rest: Uint8Array[] = [];
  for (let chunk = await far.read(); chunk; chunk = await far.read()) rest.push(chunk);
  assert.deepEqual(
    new WsFrameDecoder(false).push(Buffer.concat(rest)).map(({ kind }) => kind),
    ['close'],
  );
});

for (const [what, payload, code] of [
  ['an invalid code', '03ed', 1002],
  ['a reason that is not UTF-8', '03e880', 1007],
] as const) {
  test(`a Close frame with ${what} is reported with the code ${code}`, async () => {
    const [near, far] = linkPair();
    const link = new WsLink(near, { clock: new ManualClock() });
    const key = Uint8Array.of(1, 2, 3, 4);
    await far.write(wholeFrame(Opcode.close, [Buffer.from(payload, 'hex')], key));
    const response = far.read();
    await assert.rejects(link.read(), WsFrameError);
    const sent = await response;
    assert.deepEqual(sent && Buffer.from(sent), wholeFrame(Opcode.close, [closePayload(code)]));
  });
}

for (const [what, fail, sent] of [
  [
    'sends an invalid frame',
    (far: ByteLink) => far.write(Uint8Array.of(0xf2, 0x80, 0, 0, 0, 0)),
    wholeFrame(Opcode.close, [closePayload(CloseCode.protocolError)]),
  ],
  [
    'ends the connection within a frame',
    async (far: ByteLink) => {
      await far.write(Uint8Array.of(0x82, 0x85, 0, 0, 0, 0, 1));
      await far.closeWrite();
    },
    Buffer.alloc(0),
  ],
] as const) {
  test(`a peer that ${what} sees a clean end, which is no reset (RFC 6455 §7.1.7)`, async () => {
    const [near, far] = linkPair();
    const link = new WsLink(near, { clock: new ManualClock() });
    await fail(far);
    await assert.rejects(async () => {
      while (await link.read()) {
        // The payload that came before.
      }
    });
    // As a relay does with both of its links.
    link.destroy(new Error('the flow has failed'));
    const received: Uint8Array[] = [];
    for (let chunk = await far.read(); chunk; chunk = await far.read()) received.push(chunk);
    assert.deepEqual(Buffer.concat(received), sent);
    assert.equal(await far.closed, undefined);
  });
}

test('a link that is destroyed for another reason resets the connection', async () => {
  const [near, far] = linkPair();
  new WsLink(near, { clock: new ManualClock() }).destroy(new Error('killed'));
  assert.match(String(await far.closed), /killed/);
});
