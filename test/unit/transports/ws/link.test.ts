import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linkPair } from '../../../../src/net/links/memory-link.ts';
import {
  closePayload,
  WsFrameDecoder,
  WsFrameError,
  Opcode,
  wholeFrame,
} from '../../../../src/transports/ws/frames.ts';
import { WsLink } from '../../../../src/transports/ws/link.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

test('the Pings of one read have one Pong, with the data of the last', async () => {
  const [near, far] = linkPair();
  const link = new WsLink(near, undefined, new ManualClock());
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
    const link = new WsLink(near, undefined, new ManualClock());
    const key = Uint8Array.of(1, 2, 3, 4);
    await far.write(wholeFrame(Opcode.close, [Buffer.from(payload, 'hex')], key));
    const response = far.read();
    await assert.rejects(link.read(), WsFrameError);
    const sent = await response;
    assert.deepEqual(sent && Buffer.from(sent), wholeFrame(Opcode.close, [closePayload(code)]));
  });
}
