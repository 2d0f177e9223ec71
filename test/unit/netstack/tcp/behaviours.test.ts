import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecoveryRig } from '../../../support/netstack/tcp/recovery-rig.ts';

/*
 * Behaviours that the public scripts of packetdrill and of Linux check (fast_retransmit, sack, prr, undo,
 * tail loss probe, slow_start, limited_transmit), as scripts of our own.
 */

type Step = readonly [
  after: number,
  ack: number,
  sack: readonly (readonly [number, number])[],
  leaves: readonly string[],
];

interface Script {
  readonly name: string;
  readonly sent: number;
  /** Segments that wait behind those. */
  readonly queued?: number;
  readonly window?: number;
  readonly steps: readonly Step[];
  /** The window at the end compared with the one before the first loss, in per cent. */
  readonly share: number;
}

const again = (from: number, to = from): string[] =>
  Array.from({ length: to - from + 1 }, (_, i) => `again ${from + i}`);
const SCRIPTS: readonly Script[] = [
  {
    name: 'one of ten is lost: repeated at the third report, and one reduction',
    sent: 10,
    share: 50,
    steps: [
      [100, 0, [[1, 2]], []],
      [0, 0, [[1, 3]], []],
      [0, 0, [[1, 4]], again(0)],
      [0, 0, [[1, 10]], []],
      [100, 10, [], []],
    ],
  },
  {
    name: 'one of four is lost: the three others are enough',
    sent: 4,
    share: 50,
    steps: [
      [100, 0, [[1, 4]], again(0)],
      [100, 4, [], []],
    ],
  },
  {
    name: 'a block of several is lost: all are repeated as far as the window allows, in one reduction',
    sent: 10,
    share: 50,
    steps: [
      [100, 1, [], []],
      [0, 1, [[5, 6]], []],
      [0, 1, [[5, 8]], again(1, 4)],
      [0, 1, [[5, 10]], []],
      [100, 3, [[5, 10]], []],
      [0, 10, [], []],
    ],
  },
  {
    name: 'gaps at several places are repeated in the order of the stream, as room becomes free',
    sent: 10,
    share: 50,
    steps: [
      [100, 0, [[3, 5]], []],
      [
        0,
        0,
        [
          [6, 7],
          [3, 5],
        ],
        again(0, 2),
      ],
      [
        0,
        0,
        [
          [9, 10],
          [6, 8],
          [3, 5],
        ],
        [...again(5), ...again(8)],
      ],
      [
        100,
        6,
        [
          [9, 10],
          [6, 8],
        ],
        [],
      ],
      [0, 10, [], []],
    ],
  },
  {
    name: 'an acknowledgement ends within what was reported',
    sent: 10,
    share: 50,
    steps: [
      [100, 0, [[2, 6]], again(0)],
      [5, 1, [[2, 6]], again(1)],
      [5, 4, [[4, 6]], []],
      [0, 10, [], []],
    ],
  },
  {
    name: 'blocks of old acknowledgements below SND.UNA are no loss',
    sent: 10,
    share: 100,
    steps: [
      [100, 5, [], []],
      [0, 5, [[1, 3]], []],
      [0, 5, [[2, 4]], []],
      [0, 10, [], []],
    ],
  },
  {
    name: 'acknowledgements that come out of order change nothing',
    sent: 10,
    share: 100,
    steps: [
      [100, 8, [], []],
      [0, 3, [], []],
      [0, 5, [[6, 7]], []],
      [0, 10, [], []],
    ],
  },
  {
    name: 'reordering by one place is waited out',
    sent: 10,
    share: 100,
    steps: [
      [100, 0, [[1, 2]], []],
      [5, 2, [], []],
      [0, 2, [[3, 4]], []],
      [5, 4, [], []],
      [0, 10, [], []],
    ],
  },
];

for (const { name, sent, queued = 0, window = 10, steps, share } of SCRIPTS) {
  test(name, () => {
    const rig = new RecoveryRig({ window });
    const base = rig.written;
    rig.send(sent);
    rig.written += queued;
    const before = rig.window;
    let largest = before;
    for (const [i, [after, ack, sack, leaves]] of steps.entries()) {
      rig.now += after;
      const blocks = sack.map(([from, to]) => [base + from, base + to] as const);
      assert.deepEqual(rig.ack(base + ack, { sack: blocks }), leaves, `step ${i}`);
      largest = Math.max(largest, rig.window);
    }
    assert.equal(rig.inFlight, 0);
    if (share === 100) assert.ok(rig.window >= before);
    else
      assert.ok(Math.abs((rig.window * 100) / largest - share) < 1, `${rig.window} of ${largest}`);
  });
}

test('a lost segment is repeated as often as it is lost, without a timeout', () => {
  const rig = new RecoveryRig({ window: 20 });
  const base = rig.written;
  rig.send(60);
  rig.now += 100;
  rig.ack(base, { sack: [[base + 1, base + 4]] });
  let reported = base + 4;
  for (let round = 0; round < 5; round++) {
    rig.now += 100;
    let repeated: string[] = [];
    while (repeated.length === 0 || !repeated.includes(`again ${base}`)) {
      reported++;
      repeated = rig.ack(base, { sack: [[base + 1, reported]] });
      assert.ok(reported < rig.written);
    }
  }
  assert.equal(rig.recovery.timeouts, 0);
});

test('a window that the application does not use does not grow', () => {
  const rig = new RecoveryRig();
  const round = (): void => {
    rig.send(2);
    rig.now += 100;
    rig.ack(rig.written);
  };
  round();
  const { window } = rig;
  for (let i = 0; i < 50; i++) round();
  assert.equal(rig.window, window);
});

test('what SACK reports of the tail leaves nothing to a probe', () => {
  const rig = new RecoveryRig();
  rig.send(4);
  rig.now += 100;
  rig.ack(0, { sack: [[3, 4]] });
  assert.ok(rig.wait < 30, 'the reordering window ends first');
  assert.deepEqual(rig.expire(), ['again 0', 'again 1', 'again 2']);
});

test('a lost tail is found by its probe: the rest of it leaves a round trip later, without a timeout', () => {
  const rig = new RecoveryRig();
  rig.send(10);
  rig.now += 100;
  rig.ack(6);
  assert.deepEqual(rig.expire(), ['again 9']);
  rig.now += 100;
  const first = rig.ack(6, { sack: [[9, 10]] });
  assert.deepEqual(
    [...first, ...(first.length > 0 ? [] : rig.expire())],
    ['again 6', 'again 7', 'again 8'],
  );
  assert.equal(rig.recovery.timeouts, 0);
});

test('one probe, then the timeout, when nothing is acknowledged any more', () => {
  const rig = new RecoveryRig();
  rig.send(10);
  assert.deepEqual(rig.expire(), ['again 9']);
  assert.equal(rig.recovery.timeouts, 0);
  assert.deepEqual(rig.expire(), ['again 0']);
  assert.equal(rig.recovery.timeouts, 1);
  assert.deepEqual(rig.expire(), ['again 0']);
  assert.equal(rig.recovery.timeouts, 2);
});

test('losses after a recovery begin another one, and reduce the window again', () => {
  const rig = new RecoveryRig({ window: 40 });
  const windows = [rig.window];
  for (let i = 0; i < 3; i++) {
    const base = rig.written;
    rig.send(10);
    rig.now += 100;
    rig.ack(base, { sack: [[base + 1, base + 10]] });
    windows.push(rig.window);
    rig.now += 100;
    rig.ack(base + 10);
  }
  for (let i = 1; i < windows.length; i++) assert.ok((windows[i] ?? 0) < (windows[i - 1] ?? 0));
});
