import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SeededRandom } from '../../../../../test/support/simnet/seeded-random.ts';
import type { Driven } from '../../../../../test/support/netstack/tcp/tcp-rig.ts';
import {
  established,
  Script,
  SYNCHRONIZED,
} from '../../../../../test/support/netstack/tcp/script.ts';
import type { Segment } from '../../../../../test/support/netstack/tcp/segments.ts';

const OWN = 1_000_000;
const PEER = 4_294_960_000;

const FLAGS = [
  'S',
  'S.',
  'R',
  'R.',
  'F.',
  '.',
  'P.',
  'FP.',
  'PU.',
  'P',
  'F',
  '',
  'SF',
  'SR',
  'FR.',
];

/** Numbers near what matters, and now and then anywhere. */
function near(random: SeededRandom, base: number): number {
  const spread = [3, 200, 3000, 70_000, 2 ** 31, 2 ** 32][random.below(6)] ?? 3;
  return (base + random.below(spread) - Math.floor(spread / 2)) >>> 0;
}

function anySegment(random: SeededRandom, stamped: boolean): Segment {
  const flags = FLAGS[random.below(FLAGS.length)] ?? '';
  const size = random.chance(0.5) ? 0 : random.below(random.chance(0.1) ? 60_000 : 3000);
  return {
    flags,
    sequence: near(random, PEER + 100),
    acknowledgment: near(random, OWN + 100),
    window: random.chance(0.3) ? 0 : random.below(65_536),
    payload: new Uint8Array(size),
    ...(random.chance(0.2) && { mss: random.below(65_536) }),
    ...(random.chance(0.2) && { windowScale: random.below(15) }),
    ...(random.chance(0.2) && { sackPermitted: true }),
    ...((stamped || random.chance(0.2)) && {
      timestamp: near(random, 1000),
      timestampEcho: near(random, 0),
    }),
    ...(random.chance(0.2) && {
      sack: Array.from({ length: random.below(5) }, (): [number, number] => [
        near(random, OWN + 100),
        near(random, OWN + 100),
      ]),
    }),
  };
}

/** What has to hold whatever the peer does. */
function check(driven: Driven, context: string): void {
  const { connection, now } = driven;
  assert.ok(connection.nextTimeout() > now, `${context}: a deadline that is not in the future`);
  for (const segment of driven.out.take()) {
    assert.ok(segment.payload.length <= 65_000, context);
    assert.ok(segment.window >= 0 && segment.window <= 65_535, context);
  }
  driven.takeEvents();
  driven.traced.length = 0;
}

const START: Readonly<Record<string, () => Driven>> = {
  LISTEN: () => new Script().driven,
  'SYN-SENT': () => new Script({ role: 'active' }).run('> S 0:0(0)').driven,
  'SYN-RECEIVED (held)': () => new Script().run('< S 0:0(0) <mss 1460>').driven,
  'SYN-RECEIVED': () =>
    new Script().run(`
      accept
      < S 0:0(0) <mss 1460,sackOK,wscale 3>
      > S. 0:0(0) ack 1
    `).driven,
  'ESTABLISHED with SACK': () =>
    new Script().run(`
      accept
      < S 0:0(0) <mss 1460,sackOK,wscale 3>
      > S. 0:0(0) ack 1
      < . 1:1(0) ack 1
    `).driven,
  'ESTABLISHED with timestamps': () =>
    new Script().run(`
      accept
      < S 0:0(0) <mss 1460,sackOK,wscale 3,TS val 1000 ecr 0>
      > S. 0:0(0) ack 1
      < . 1:1(0) ack 1 <TS val 1000 ecr 0>
    `).driven,
  'TIME-WAIT': () =>
    new Script().run(`
      in FIN-WAIT-2
      < F. 101:101(0) ack 102
      > . 102:102(0) ack 102
    `).driven,
  ...Object.fromEntries(
    SYNCHRONIZED.map((state) => [state, () => new Script().run(`in ${state}`).driven]),
  ),
};

describe('any segment, in any state: nothing is thrown, and deadlines stay in the future', () => {
  for (const [name, start] of Object.entries(START)) {
    test(name, () => {
      for (let seed = 0; seed < 150; seed++) {
        const random = new SeededRandom(seed);
        const driven = start();
        const { connection } = driven;
        for (let step = 0; step < 60; step++) {
          const context = `seed ${seed}, step ${step}, ${connection.state}`;
          switch (random.below(8)) {
            case 0:
              driven.advance(random.below(5000));
              break;
            case 1:
              connection.write(new Uint8Array(random.below(5000)));
              break;
            case 2:
              connection.read(driven.now);
              break;
            case 3:
              if (random.chance(0.05)) connection.closeWrite();
              if (random.chance(0.05)) connection.onPathMtu(random.below(9000), driven.now);
              if (random.chance(0.02)) connection.abort(driven.now);
              if (random.chance(0.1)) connection.accept();
              if (random.chance(0.02)) connection.refuse('silent', driven.now);
              break;
            default:
              driven.receive(anySegment(random, name.includes('timestamps')));
              break;
          }
          driven.settle();
          check(driven, context);
        }
      }
    });
  }
});

describe('bounds', () => {
  test('a peer that sends everything but the first byte does not fill the memory', () => {
    const script = established();
    const { driven } = script;
    for (let at = 2; at < 200_000; at += 2) {
      driven.receive(segment({ sequence: PEER + at, payload: new Uint8Array(1) }));
      driven.out.take();
      driven.traced.length = 0;
    }
    assert.equal(driven.connection.read(0), undefined);
    assert.equal(driven.connection.state, 'ESTABLISHED');
  });

  test('a blind RST within the window does not end the connection (RFC 5961)', () => {
    const { driven } = established();
    for (let at = 2; at < 65_536; at += 7) {
      driven.receive(segment({ flags: 'R', sequence: PEER + at, acknowledgment: 0 }));
    }
    assert.equal(driven.connection.state, 'ESTABLISHED');
  });

  test('ACKs that only claim progress do not move anything', () => {
    const { driven } = established();
    driven.connection.write(new Uint8Array(5000));
    driven.settle();
    const { unacknowledged } = driven.connection;
    for (let at = 5002; at < 2 ** 31; at = at * 2 + 1) {
      driven.receive(segment({ acknowledgment: (OWN + at) >>> 0 }));
    }
    assert.equal(driven.connection.unacknowledged, unacknowledged);
  });
});

function segment(fields: Partial<Segment>): Segment {
  const whole: Segment = {
    flags: '.',
    sequence: PEER + 1,
    acknowledgment: OWN + 1,
    window: 65_535,
    payload: new Uint8Array(0),
    ...fields,
  };
  return { ...whole, sequence: whole.sequence >>> 0 };
}
