import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bbr } from '../../src/bbr/bbr.ts';
import { Brutal } from '../../src/brutal.ts';
import type { CongestionController } from '../../src/controller.ts';
import { Cubic } from '../../src/cubic.ts';
import { NewReno } from '../../src/classic-window.ts';
import { SeededRandom } from '../../../../test/support/simnet/seeded-random.ts';
import { Dumbbell, jain, megabits, MTU } from '../../../../test/support/congestion/bottleneck.ts';
import { matchSnapshot } from '../../../../test/support/congestion/snapshot.ts';

const SEED = 20_261_122;

const CONTROLLERS: Readonly<Record<'bbr' | 'cubic' | 'newreno', () => CongestionController>> = {
  bbr: () => new Bbr(MTU, new SeededRandom(SEED)),
  cubic: () => new Cubic(MTU),
  newreno: () => new NewReno(MTU),
};

interface Measured {
  /** Share of the bottleneck that arrives. */
  readonly share: number;
  /** Mean and greatest wait in the queue, in round trips. */
  readonly meanQueue: number;
  readonly maxQueue: number;
}

/** One flow over a path, after it has started. */
function measure(
  controller: CongestionController,
  { rate = 20, rtt = 50, buffer = 1, loss = 0, duration = 12_000 },
): Measured {
  const bytes = megabits(rate);
  const network = new Dumbbell(
    { seed: SEED, rate: () => bytes, buffer: buffer * bytes * rtt, loss: () => loss },
    [{ controller, rtt }],
  );
  network.runUntil(2000 + 20 * rtt);
  const [arrived = 0] = network.rates(duration);
  const { meanQueueDelay, maxQueueDelay } = network.path;
  return {
    share: arrived / bytes,
    meanQueue: meanQueueDelay / rtt,
    maxQueue: maxQueueDelay / rtt,
  };
}

const percent = (share: number): string => (share * 100).toFixed(0).padStart(4);

/** Megabits per second, ms, and bandwidth-delay products of buffer. */
const PATHS: readonly (readonly [number, number, number])[] = [
  [2, 100, 1],
  [20, 10, 2],
  [20, 50, 0.5],
  [20, 50, 1],
  [20, 300, 1],
  [100, 100, 1],
  [200, 30, 1],
];
const LOSSES = [0, 0.01, 0.02, 0.05, 0.1];

test('the use of a bottleneck by random loss is the recorded one, and BBR holds it', () => {
  const lines = [
    `Share of the bottleneck in %, by random loss in % (seed ${SEED})`,
    `${'Mbit/s    ms  BDP'.padEnd(28)}${LOSSES.map((loss) => percent(loss)).join('')}`,
  ];
  const weak: string[] = [];
  for (const [rate, rtt, buffer] of PATHS) {
    for (const [name, create] of Object.entries(CONTROLLERS)) {
      // The window-based ones are there to compare with: the fast paths would only take time.
      if (name !== 'bbr' && rate > 20) continue;
      const path = `${String(rate).padStart(6)}${String(rtt).padStart(6)}${String(buffer).padStart(5)}`;
      let line = `${path}  ${name}`.padEnd(28);
      for (const loss of LOSSES) {
        const duration = rate > 20 ? 6000 : 12_000;
        const { share } = measure(create(), { rate, rtt, buffer, loss, duration });
        line += percent(share);
        const least = (1 - loss) * 0.9;
        if (name === 'bbr' && share < least) weak.push(`${path} at ${loss}: ${share.toFixed(2)}`);
      }
      lines.push(line);
    }
  }
  assert.deepEqual(weak, [], `seed ${SEED}`);
  matchSnapshot('utilisation.txt', `${lines.join('\n')}\n`);
});

test('two flows that begin apart come to share a bottleneck', () => {
  const lines = [
    `Shares in % and Jain's index of two flows, the second 3 s later (seed ${SEED})`,
    'Mbit/s    ms  BDP  loss',
  ];
  for (const [name, create, least] of [
    ['bbr', (seed: number) => new Bbr(MTU, new SeededRandom(seed)), 0.8],
    ['cubic', () => new Cubic(MTU), 0.8],
    ['newreno', () => new NewReno(MTU), 0.8],
  ] as const) {
    for (const [rate, rtt, buffer, loss] of [
      [20, 50, 1, 0],
      [20, 50, 2, 0],
      [20, 50, 1, 0.02],
      [50, 30, 0.5, 0],
    ] as const) {
      const bytes = megabits(rate);
      const network = new Dumbbell(
        { seed: SEED, rate: () => bytes, buffer: buffer * bytes * rtt, loss: () => loss },
        [0, 3000].map((startAt, at) => ({ controller: create(at), rtt, startAt })),
      );
      network.runUntil(20_000);
      const rates = network.rates(30_000);
      const index = jain(rates);
      const path = `${String(rate).padStart(6)}${String(rtt).padStart(6)}${String(buffer).padStart(5)}${percent(loss)}`;
      lines.push(
        `${path}    ${name.padEnd(8)}${rates.map((own) => percent(own / bytes)).join('')}  ${index.toFixed(2)}`,
      );
      assert.ok(index > least, `${path} ${name}: ${index} (seed ${SEED})`);
    }
  }
  matchSnapshot('fairness.txt', `${lines.join('\n')}\n`);
});

test('BBR keeps the queue short in a large buffer, CUBIC fills it', () => {
  const bbr = measure(CONTROLLERS.bbr(), { buffer: 8 });
  assert.ok(bbr.share > 0.9 && bbr.meanQueue < 0.25 && bbr.maxQueue < 1.5, JSON.stringify(bbr));
  const cubic = measure(CONTROLLERS.cubic(), { buffer: 8, duration: 30_000 });
  assert.ok(cubic.meanQueue > 1, JSON.stringify(cubic));
});

test('BBR holds a lossy path whose jitter looks like a queue', () => {
  for (const [jitter, loss, least] of [
    [5, 0.1, 0.8],
    [20, 0.03, 0.8],
    [20, 0.1, 0.7],
    [50, 0.1, 0.6],
  ] as const) {
    const network = new Dumbbell(
      { seed: SEED, rate: () => megabits(20), buffer: megabits(20) * 50, loss: () => loss, jitter },
      [{ controller: CONTROLLERS.bbr(), rtt: 50 }],
    );
    network.runUntil(4000);
    const share = (network.rates(12_000)[0] ?? 0) / megabits(20);
    assert.ok(share > least, `${share} with ${jitter} ms and ${loss} (seed ${SEED})`);
  }
});

test('BBR gives up nothing for random losses on a path with jitter', () => {
  for (let seed = 1; seed <= 10; seed++) {
    const rate = megabits(20);
    const network = new Dumbbell(
      { seed, rate: () => rate, buffer: rate * 50, loss: () => 0.02, jitter: 15 },
      [{ controller: new Bbr(MTU, new SeededRandom(seed)), rtt: 50 }],
    );
    network.runUntil(3000);
    const share = (network.rates(7000)[0] ?? 0) / rate;
    assert.ok(share > 0.92, `${share} (seed ${seed})`);
  }
});

/** One flow whose bottleneck changes at 10 s; the share of it in each of the following seconds. */
function afterChange(controller: CongestionController, before: number, after: number): number[] {
  const network = new Dumbbell(
    {
      seed: SEED,
      rate: (now) => megabits(now < 10_000 ? before : after),
      buffer: megabits(20) * 50,
      loss: () => 0.01,
    },
    [{ controller, rtt: 50 }],
  );
  network.runUntil(10_000);
  return Array.from({ length: 10 }, () => (network.rates(1000)[0] ?? 0) / megabits(after));
}

test('BBR finds a bandwidth that has doubled, or become ten times as large', () => {
  for (const [before, after] of [
    [20, 40],
    [10, 100],
  ] as const) {
    const shares = afterChange(CONTROLLERS.bbr(), before, after);
    const late = shares.slice(6);
    assert.ok(
      late.every((share) => share > 0.8),
      `${shares.map(percent).join('')} (seed ${SEED})`,
    );
  }
});

test('BBR follows a bandwidth that has halved, or fallen to a tenth', () => {
  for (const [before, after] of [
    [40, 20],
    [200, 20],
  ] as const) {
    const network = new Dumbbell(
      {
        seed: SEED,
        rate: (now) => megabits(now < 10_000 ? before : after),
        buffer: megabits(20) * 50,
      },
      [{ controller: CONTROLLERS.bbr(), rtt: 50 }],
    );
    network.runUntil(17_000);
    const [flow] = network.flows;
    assert.ok(flow);
    const { sent, lost } = flow;
    const [share = 0] = network.rates(10_000);
    const lostShare = (flow.lost - lost) / (flow.sent - sent);
    assert.ok(share / megabits(after) > 0.85, `${share / megabits(after)} (seed ${SEED})`);
    assert.ok(lostShare < 0.05, `${lostShare} lost (seed ${SEED})`);
  }
});

test('phases in which the application has little to send do not reduce the estimate of BBR', () => {
  const controller = new Bbr(MTU, new SeededRandom(SEED));
  const network = new Dumbbell(
    { seed: SEED, rate: () => megabits(50), buffer: megabits(50) * 50, loss: () => 0.02 },
    [
      {
        controller,
        rtt: 50,
        demand: (now) => (now > 8000 && now < 40_000 ? megabits(1) : Infinity),
      },
    ],
  );
  network.runUntil(8000);
  const known = controller.bandwidth;
  network.runUntil(40_000);
  assert.ok(controller.bandwidth >= known * 0.95, `${controller.bandwidth} of ${known}`);
  const [rate = 0] = network.rates(1000);
  assert.ok(rate > megabits(50) * 0.8, `${rate / megabits(50)} in the first second (seed ${SEED})`);
});

test('BBR drains the queue every five seconds and measures the round trip anew', () => {
  const controller = new Bbr(MTU, new SeededRandom(SEED));
  const states = new Set<string>();
  let entered = 0;
  let before = '';
  const network = new Dumbbell(
    {
      seed: SEED,
      rate: () => megabits(20),
      buffer: megabits(20) * 100,
      onAck: () => {
        states.add(controller.state);
        if (controller.state === 'probe-rtt' && before !== 'probe-rtt') entered++;
        before = controller.state;
      },
    },
    [{ controller, rtt: 50 }],
  );
  network.runUntil(21_000);
  assert.ok(entered >= 2 && entered <= 4, `${entered} times`);
  assert.deepEqual([...states].sort(), [
    'drain',
    'probe-cruise',
    'probe-down',
    'probe-refill',
    'probe-rtt',
    'probe-up',
    'startup',
  ]);
});

test('Brutal has its rate arrive at 10 % loss, and makes up for no more than 20 %', () => {
  const arriving = (loss: number): number =>
    measure(new Brutal(megabits(10), MTU), { rate: 20, loss, buffer: 2 }).share * 2;
  assert.ok(Math.abs(arriving(0.1) - 1) < 0.02, `${arriving(0.1)} (seed ${SEED})`);
  assert.ok(Math.abs(arriving(0.4) - 0.75) < 0.02, `${arriving(0.4)} (seed ${SEED})`);
});
