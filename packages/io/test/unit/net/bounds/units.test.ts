import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as settled, setImmediate as turn } from 'node:timers/promises';
import { createOpener } from '@weir/crypto/aead';
import { METHODS } from '@weir/proxy/protocols/shadowsocks/methods';
import {
  GRANT_UNITS,
  GRANTS_A_TURN,
  SMALL_PIECE,
  SmallUnits,
  SPENT_GRANTS_A_TURN,
  UnitCost,
  UnitShare,
  UnitTurns,
} from '../../../../src/net/bounds/units.ts';
import type { ByteLink } from '../../../../src/net/links/link.ts';
import { linkPair } from '../../../../src/net/links/memory-link.ts';
import { ChunkOpener, ChunkSealer } from '../../../../../proxy/src/protocols/shadowsocks/chunks.ts';
import {
  ShadowsocksLink,
  type StreamSealer,
} from '../../../../../proxy/src/protocols/shadowsocks/stream-link.ts';
import {
  BodyOpener,
  BodySealer,
} from '../../../../../proxy/src/protocols/vmess/body/body-chunks.ts';
import {
  requestKeys,
  responseKeys,
} from '../../../../../proxy/src/protocols/vmess/body/body-keys.ts';
import { BodyLink } from '../../../../../proxy/src/protocols/vmess/body/body.ts';
import { KnownRandom } from '../../../../../../test/support/known-random.ts';
import { readAll } from '../../../../../../test/support/read-link.ts';

/** Turns that the test begins itself. */
function start() {
  const scheduled: (() => void)[] = [];
  const turns = new UnitTurns((task) => void scheduled.push(task));
  const nextTurn = async (): Promise<void> => {
    for (const task of scheduled.splice(0)) task();
    await settled();
  };
  /** A decoder that never ends: it counts the grants that it has used. */
  const greedy = (holder?: unknown): { grants: number } => {
    const share = new UnitShare(holder, turns);
    const used = { grants: 0 };
    const grant = (): Promise<void> | undefined => share.take(GRANT_UNITS);
    void (async () => {
      for (;;) {
        await grant();
        used.grants++;
      }
    })();
    return used;
  };
  return { turns, scheduled, nextTurn, greedy };
}

describe('the share of decoded units', () => {
  test('costs nothing where a connection has few units', () => {
    const { turns, scheduled } = start();
    const share = new UnitShare(undefined, turns);
    for (let i = 0; i < 31; i++) assert.equal(share.take(1), undefined);
    assert.equal(scheduled.length, 0, 'no turn is scheduled');
  });

  test('of one connection is that of a turn, and the rest waits for later turns', async () => {
    const { turns, nextTurn, scheduled } = start();
    const share = new UnitShare(undefined, turns);
    let units = 0;
    const decode = async (): Promise<void> => {
      for (; units < 100_000; units++) {
        const wait = share.take(1);
        if (wait) await wait;
      }
    };
    const done = decode();
    let before = units;
    assert.ok(before <= GRANTS_A_TURN * GRANT_UNITS, `${before} units in the first turn`);
    let count = 1;
    while (units < 100_000) {
      await nextTurn();
      assert.ok(units - before <= (GRANTS_A_TURN + 1) * GRANT_UNITS);
      assert.ok(units > before, 'every turn goes on');
      before = units;
      count++;
    }
    await done;
    assert.ok(count >= 100_000 / (GRANTS_A_TURN * GRANT_UNITS));
    await nextTurn();
    await nextTurn();
    assert.equal(scheduled.length, 0, 'nothing is scheduled without work');
  });

  test('of all connections together is that of a turn, in a fair round', async () => {
    const { nextTurn, greedy } = start();
    const all = Array.from({ length: 40 }, () => greedy());
    const sum = (): number => all.reduce((total, { grants }) => total + grants, 0);
    await settled();
    for (let turn = 0; turn < 400; turn++) {
      const before = sum();
      await nextTurn();
      assert.ok(sum() - before <= GRANTS_A_TURN);
    }
    const grants = all.map((used) => used.grants);
    assert.ok(Math.max(...grants) - Math.min(...grants) <= 2, grants.join(' '));
  });

  test('of a connection with few units comes before a round of those with many', async () => {
    const { turns, nextTurn, greedy } = start();
    for (let i = 0; i < 500; i++) greedy();
    // Each gets its first grant as a connection of few units.
    for (let i = 0; i < 100; i++) await nextTurn();
    const honest = new UnitShare(undefined, turns);
    const wait = honest.take(100);
    let isGranted = wait === undefined;
    void wait?.then(() => (isGranted = true));
    await nextTurn();
    assert.ok(isGranted, 'within one turn, not after 500 others');
  });

  test('of many connections of one holder takes nothing from another holder', async () => {
    const { nextTurn, greedy } = start();
    for (let i = 0; i < 60; i++) greedy('user');
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    const other = greedy('other');
    for (let turn = 0; turn < 300; turn++) await nextTurn();
    assert.ok(other.grants >= 300, `one grant a turn, not one of 61: ${other.grants}`);
  });

  test('of a unit that costs more than a turn is paid in several', async () => {
    const { turns, nextTurn, greedy } = start();
    for (let i = 0; i < 10; i++) greedy();
    const share = new UnitShare(undefined, turns);
    const wait = share.take(GRANT_UNITS * 3);
    let isGranted = false;
    void wait?.then(() => (isGranted = true));
    await nextTurn();
    assert.equal(isGranted, false);
    for (let i = 0; i < 20; i++) await nextTurn();
    assert.ok(isGranted);
    assert.ok(SPENT_GRANTS_A_TURN < GRANTS_A_TURN);
  });
});

const CHUNKS = 1_500;
const ONE = new Uint8Array(1);
const never: Pick<ByteLink, 'read'> = {
  read: () => Promise.reject(new Error('the link was read')),
};

const method = METHODS['aes-128-gcm'];
const subkey = new Uint8Array(method.keyLength);
const noSealer: StreamSealer = {
  seal: () => assert.fail('nothing is sent'),
  [Symbol.dispose]: () => undefined,
};
const terms = {
  iv: new Uint8Array(16),
  key: new Uint8Array(16),
  options: 0x05,
  security: 3,
} as const;

/** `CHUNKS` chunks of a byte each, and a link that opens them. */
const LINKS = [
  {
    what: 'Shadowsocks',
    sealed: (): Buffer => {
      using sealer = new ChunkSealer(method, subkey);
      const out = Buffer.alloc(CHUNKS * sealer.sealedLength(1));
      for (let i = 0, at = 0; i < CHUNKS; i++) at = sealer.payload(ONE, out, at);
      return out;
    },
    open: (lower: ByteLink): ByteLink =>
      new ShadowsocksLink(
        lower,
        noSealer,
        new ChunkOpener(method, createOpener(method.aead, subkey)),
      ),
  },
  {
    what: 'VMess',
    sealed: (): Buffer => {
      using sealer = new BodySealer(requestKeys(terms), new KnownRandom());
      return Buffer.concat(Array.from({ length: CHUNKS }, () => sealer.stream(ONE)));
    },
    open: (carrier: ByteLink): ByteLink =>
      new BodyLink({
        carrier,
        decoder: new BodyOpener(requestKeys(terms)),
        sealer: new BodySealer(responseKeys(terms), new KnownRandom()),
        preface: ONE,
      }),
  },
];

for (const { what, sealed, open } of LINKS) {
  describe(`chunks of a byte of ${what}`, () => {
    test('of one read are opened in pieces, between which others have their turn', async () => {
      let over = 0;
      let turns = 0;
      // All connections of a process share its turns.
      const many = Array.from({ length: 8 }, async () => {
        const [far, near] = linkPair();
        far.write(sealed())?.catch(() => undefined);
        await far.closeWrite();
        const link = open(near);
        const first = await link.read();
        assert.ok(first && first.length <= SMALL_PIECE / 18, `${first?.length} at once`);
        link.unread(first);
        return readAll(link).finally(() => over++);
      });
      for (; over < many.length; turns++) await turn();
      for (const bytes of await Promise.all(many)) assert.equal(bytes.length, CHUNKS);
      // The first of each piece is not counted, nor is one of each 512 bytes.
      const counted = 8 * CHUNKS * 0.9 * UnitCost.sealedChunk;
      const least = Math.floor(counted / (GRANTS_A_TURN * GRANT_UNITS));
      assert.ok(turns >= least, `${turns} turns`);
    });

    test('are not opened after the link was destroyed while they waited', async () => {
      const [far, near] = linkPair();
      far.write(sealed())?.catch(() => undefined);
      const link = open(near);
      await link.read();
      const rest = readAll(link);
      link.destroy(new Error('over'));
      await assert.rejects(rest, /over/);
    });
  });
}

describe('reads of a connection', () => {
  const read = Uint8Array.from({ length: 64 << 10 }, (_, i) => i >> 8);

  test('of units in bulk are decoded as a whole', () => {
    const units = new SmallUnits(UnitCost.record);
    for (const count of [4, 48, 128]) {
      // The first read shows what they are.
      assert.equal(units.cut(read).length, count === 4 ? SMALL_PIECE : read.length);
      units.release();
      units.count(count === 4 ? 0 : count, count === 4 ? SMALL_PIECE : read.length);
      assert.equal(units.isWaiting, false);
    }
  });

  test('of a unit each are those of a conversation, and do not wait', () => {
    const units = new SmallUnits(UnitCost.sealedChunk);
    for (let i = 0; i < 1_000; i++) {
      assert.equal(units.cut(ONE), ONE);
      units.count(1, 35);
      assert.equal(units.isWaiting, false);
    }
  });

  test('of small units are cut, and the pieces keep their order', async () => {
    const units = new SmallUnits(UnitCost.record);
    const pieces: Uint8Array[] = [];
    let piece: Uint8Array | undefined = read;
    for (;;) {
      piece = units.cut(piece);
      pieces.push(piece);
      units.count(100, piece.length);
      if (pieces.length === read.length / SMALL_PIECE) break;
      assert.ok(units.isWaiting);
      piece = (await units.next(never, undefined)) ?? assert.fail('the end');
    }
    assert.deepEqual(Buffer.concat(pieces), Buffer.from(read));
  });

  test('wait for 512 links of the process; those of others are decoded as a whole', () => {
    const many = Array.from({ length: 520 }, () => new SmallUnits(UnitCost.record));
    const cut = many.filter((units) => units.cut(read).length < read.length);
    assert.equal(cut.length, 512);
    for (const units of many) units.release();
    const later = new SmallUnits(UnitCost.record);
    assert.equal(later.cut(read).length, SMALL_PIECE);
    later.release();
  });
});
