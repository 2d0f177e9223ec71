/**
 * A sender with a congestion controller on a simulated path of 10 Mbit/s, 40 ms and a queue of 50 packets: prints the
 * window twice a second. No clock and no socket: time is a number.
 *
 *   node simulated-path.js [cubic|newreno|bbr]
 */
import {
  Bbr,
  type CongestionController,
  Cubic,
  NewReno,
  SendControl,
  SentFacts,
} from '@weir/congestion';

const MTU = 1200;
/** Bytes per millisecond. */
const RATE = 1250;
const ROUND_TRIP_MS = 40;
const QUEUE_PACKETS = 50;
const DURATION_MS = 6000;
/** Packets sent after a packet whose acknowledgements show that it is lost (RFC 9002 §6.1.1). */
const REORDERING = 3;

/** Not for secrets: the same run each time. */
let seed = 1;
const below = (limit: number): number => {
  seed = (seed * 48_271) % 2_147_483_647;
  return seed % limit;
};
const random = {
  below,
  bytes: (length: number) => Buffer.from(Array.from({ length }, () => below(256))),
  fill: (target: Uint8Array) => target.set(Array.from(target, () => below(256))),
};

function create(name: string | undefined): CongestionController {
  if (name === 'newreno') return new NewReno(MTU);
  if (name === 'bbr') return new Bbr(MTU, random);
  return new Cubic(MTU);
}

const controller = create(process.argv[2]);
const control = new SendControl(controller, MTU);
// A slot for each packet: a protocol reuses them.
const facts = new SentFacts(1 << 16);
const unacknowledged: number[] = [];
/** Packets that the bottleneck has not dropped, and when the acknowledgement of each arrives. */
const deliveries: { readonly slot: number; readonly ackAt: number }[] = [];
let sent = 0;
let lost = 0;
let acknowledged = 0;
/** When the bottleneck has sent all that it holds. */
let idleAt = 0;

/** Sends what the window and the pacer allow. */
function send(now: number): void {
  while (control.allowance(now) >= MTU) {
    const slot = sent++;
    unacknowledged.push(slot);
    control.onSent(facts, slot, MTU, now);
    const queued = Math.max(0, idleAt - now) * RATE;
    if (queued > QUEUE_PACKETS * MTU) continue; // dropped
    idleAt = Math.max(idleAt, now) + MTU / RATE;
    deliveries.push({ slot, ackAt: idleAt + ROUND_TRIP_MS });
  }
}

/** Passes the acknowledgement of a packet, and the losses that it reveals. */
function acknowledge(slot: number, now: number): void {
  const sentAt = facts.sentAt(slot);
  control.beginAck(now);
  control.onAcked(facts, slot);
  control.onRtt(now - sentAt, 0);
  unacknowledged.splice(unacknowledged.indexOf(slot), 1);
  acknowledged++;
  while ((unacknowledged[0] ?? Infinity) <= slot - REORDERING) {
    control.onLost(facts, unacknowledged.shift() ?? 0, now);
    lost++;
  }
  control.finishAck();
}

console.log(`${controller.name}: ${(RATE * 8) / 1000} Mbit/s, ${ROUND_TRIP_MS} ms`);
for (let now = 0; now <= DURATION_MS; now++) {
  while (deliveries[0] && deliveries[0].ackAt <= now) {
    const next = deliveries.shift();
    if (next) acknowledge(next.slot, next.ackAt);
  }
  send(now);
  if (now % 500 === 0) {
    const window = Math.round(controller.window / MTU);
    console.log(
      `${String(now).padStart(5)} ms  ${'#'.repeat(Math.min(window, 120) / 2)} ${window} packets`,
    );
  }
}
const mbit = (acknowledged * MTU * 8) / 1000 / DURATION_MS;
console.log(`${mbit.toFixed(1)} Mbit/s, ${lost} of ${sent} packets lost`);
