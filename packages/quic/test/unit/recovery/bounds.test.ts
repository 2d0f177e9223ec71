import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NewReno } from '../../../../congestion/src/classic-window.ts';
import { SendControl } from '@weir/congestion';
import { LossDetection } from '../../../src/recovery/loss-detection.ts';
import { MAX_PACKETS, RESERVED_PACKETS } from '../../../src/limits.ts';
import { Space } from '../../../src/wire/packet-header.ts';
import { SeededRandom } from '../../../../../test/support/simnet/seeded-random.ts';

const { INITIAL, APPLICATION } = Space;
const NOW = 1000;
const PACKET = 1000;

/** Recovery of which only the memory is looked at: none of its packet numbers is skipped. */
function recovery(): { loss: LossDetection; control: SendControl; lost: number[] } {
  const random = Object.assign(new SeededRandom(1), { below: () => 2 ** 52 });
  const control = new SendControl(new NewReno(PACKET), PACKET);
  const loss = new LossDetection('server', random, control);
  loss.onHandshakeConfirmed(NOW);
  return { loss, control, lost: [] };
}

function send(
  { loss, lost }: ReturnType<typeof recovery>,
  {
    space = APPLICATION,
    ackEliciting = true,
    frames = 1,
  }: { space?: Space; ackEliciting?: boolean; frames?: number } = {},
): void {
  const number = loss.nextNumber(space);
  const log = loss.frames(space);
  for (let i = 0; i < frames && ackEliciting; i++) {
    log.add({ onAcknowledged: () => undefined, onLost: (n) => lost.push(n) }, number);
  }
  const packet = { number, bytes: PACKET, ackEliciting, inFlight: ackEliciting };
  loss.onSent(space, { ...packet, ect0: false, mtuProbe: false, offPath: false }, NOW);
}

function ack(
  loss: LossDetection,
  smallest: number,
  largest: number,
  space: Space = APPLICATION,
): void {
  const at = NOW + 50;
  assert.equal(loss.ackStart(space, largest, 0, at), undefined);
  assert.equal(loss.ackRange(smallest, largest), undefined);
  assert.equal(loss.ackEnd(false, 0, 0, 0), undefined);
}

test('at the bound nothing may be sent but probes, and then the oldest packet is given up', () => {
  const it = recovery();
  const { loss, control, lost } = it;
  while (loss.canSend(APPLICATION)) send(it);
  assert.equal(loss.nextNumber(APPLICATION), MAX_PACKETS - RESERVED_PACKETS);
  for (let i = 0; i < RESERVED_PACKETS; i++) send(it);
  assert.deepEqual(lost, []);
  send(it);
  assert.deepEqual(lost, [0]);
  assert.equal(control.inFlight, MAX_PACKETS * PACKET);
  ack(loss, 0, MAX_PACKETS);
  assert.equal(control.inFlight, 0);
  assert.equal(loss.canSend(APPLICATION), true);
});

test('late acknowledgements of lost packets are given up before sending stops', () => {
  const it = recovery();
  while (it.loss.canSend(APPLICATION)) send(it);
  ack(it.loss, 2, it.loss.nextNumber(APPLICATION) - 1);
  assert.deepEqual(it.lost, [0, 1]);
  assert.equal(it.loss.canSend(APPLICATION), true);
});

test('many frames of few packets fill the memory of frames', () => {
  const it = recovery();
  while (it.loss.canSend(APPLICATION)) send(it, { frames: 256 });
  const packets = it.loss.nextNumber(APPLICATION);
  assert.ok(packets < 1100, String(packets));
  ack(it.loss, 0, packets - 1);
  assert.equal(it.loss.canSend(APPLICATION), true);
  assert.equal(it.loss.frames(APPLICATION).size, 0);
});

test('a space takes no memory before its first packet, after its keys, and little after a pause', () => {
  const it = recovery();
  const { loss } = it;
  const none = { packets: 0, frames: 0 };
  assert.deepEqual(loss.capacity(INITIAL), none);
  for (let i = 0; i < 100; i++) send(it, { space: INITIAL });
  ack(loss, 0, 9, INITIAL);
  assert.ok(loss.capacity(INITIAL).packets >= 90);
  loss.discard(INITIAL, NOW);
  assert.deepEqual(loss.capacity(INITIAL), none);
  for (let i = 0; i < 500; i++) send(it);
  ack(loss, 0, 499);
  // Acknowledgements alone, as an idle server sends them, are not acknowledged for long.
  for (let i = 0; i < 5; i++) send(it, { ackEliciting: false });
  assert.ok(loss.capacity(APPLICATION).packets >= 500);
  loss.trim(NOW + 10_000);
  assert.deepEqual(loss.capacity(APPLICATION), { packets: 8, frames: 16 });
});
