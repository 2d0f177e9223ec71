import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { type QuicError, TransportErrorCode } from '../../../../src/quic/errors.ts';
import { LocalConnectionIds, PeerConnectionIds } from '../../../../src/quic/path/connection-ids.ts';
import {
  ACTIVE_CONNECTION_ID_LIMIT,
  MAX_LOCAL_IDS,
  MAX_RETIREMENTS,
} from '../../../../src/quic/path/limits.ts';

const { PROTOCOL_VIOLATION, FRAME_ENCODING_ERROR, CONNECTION_ID_LIMIT_ERROR } = TransportErrorCode;

/** Id and token depend on the sequence number alone. */
const idOf = (sequence: number): Uint8Array => new Uint8Array(8).fill(sequence + 1);
const tokenOf = (sequence: number): Uint8Array => new Uint8Array(16).fill(sequence + 101);

/** Moves to a new path, and forgets the former one. Returns whether the id is another one then. */
function change(ids: PeerConnectionIds): boolean {
  const before = ids.current;
  ids.use({}, {});
  ids.retireUnused(() => false);
  return ids.current !== before;
}

class Issuer {
  readonly released: number[] = [];
  readonly ids = new LocalConnectionIds(
    idOf(0),
    (sequence) => ({ id: idOf(sequence), resetToken: tokenOf(sequence) }),
    (id) => this.released.push((id[0] ?? 0) - 1),
  );

  /** Sends all announcements that are due. */
  announce(): number[] {
    const sent: number[] = [];
    for (let { due } = this.ids; due !== undefined; { due } = this.ids) {
      assert.deepEqual(due.id, idOf(due.sequence));
      assert.deepEqual(due.resetToken, tokenOf(due.sequence));
      sent.push(due.sequence);
      this.ids.onSent(due.sequence);
    }
    return sent;
  }
}

describe('ids issued to the peer (RFC 9000 §5.1.1)', () => {
  for (const { limit, expected } of [
    { limit: 2, expected: [1] },
    { limit: 3, expected: [1, 2] },
    { limit: 1000, expected: [1, 2, 3] },
  ]) {
    test(`with active_connection_id_limit ${limit}, ${expected.length} besides the first`, () => {
      const { ids } = new Issuer();
      assert.equal(ids.due, undefined);
      const issuer = new Issuer();
      issuer.ids.setPeerLimit(limit);
      assert.deepEqual(issuer.announce(), expected);
      assert.ok(expected.length < MAX_LOCAL_IDS);
    });
  }

  test('an empty id is the only one (§5.1)', () => {
    const ids = new LocalConnectionIds(
      new Uint8Array(0),
      () => assert.fail('issued'),
      () => undefined,
    );
    ids.setPeerLimit(8);
    assert.equal(ids.due, undefined);
    assert.equal(ids.retire(1, new Uint8Array(0))?.code, PROTOCOL_VIOLATION);
  });

  test('a lost announcement is repeated until it is acknowledged', () => {
    const issuer = new Issuer();
    issuer.ids.setPeerLimit(3);
    issuer.announce();
    issuer.ids.onLost(2);
    assert.deepEqual(issuer.announce(), [2]);
    issuer.ids.onAcknowledged(2);
    issuer.ids.onLost(2);
    assert.deepEqual(issuer.announce(), []);
  });

  test('a retired id is released and replaced', () => {
    const issuer = new Issuer();
    issuer.ids.setPeerLimit(3);
    issuer.announce();
    assert.equal(issuer.ids.retire(0, idOf(1)), undefined);
    assert.deepEqual(issuer.released, [0]);
    assert.deepEqual(issuer.announce(), [3]);
    assert.equal(issuer.ids.retire(0, idOf(1)), undefined);
    issuer.ids.onLost(0);
    assert.deepEqual(issuer.announce(), []);
  });

  test('an id that was never announced cannot be retired (§19.16)', () => {
    const issuer = new Issuer();
    issuer.ids.setPeerLimit(3);
    assert.equal(issuer.ids.retire(1, idOf(0))?.code, PROTOCOL_VIOLATION);
    issuer.announce();
    assert.equal(issuer.ids.retire(1, idOf(0)), undefined);
    assert.equal(issuer.ids.retire(9, idOf(0))?.code, PROTOCOL_VIOLATION);
  });

  test('a packet cannot retire the id that it is addressed to (§19.16)', () => {
    const issuer = new Issuer();
    issuer.ids.setPeerLimit(3);
    issuer.announce();
    const error = issuer.ids.retire(1, idOf(1));
    assert.equal(error?.code, PROTOCOL_VIOLATION);
    assert.equal(error.frameType, 0x19);
  });

  test('at the end all are released', () => {
    const issuer = new Issuer();
    issuer.ids.setPeerLimit(3);
    issuer.ids.dispose();
    assert.deepEqual(issuer.released, [0, 1, 2]);
    assert.equal(issuer.ids.due, undefined);
  });
});

/** NEW_CONNECTION_ID inside other bytes of a packet, which is used again after it. */
function add(
  ids: PeerConnectionIds,
  sequence: number,
  retirePriorTo = 0,
  { id = idOf(sequence), token = tokenOf(sequence) } = {},
): QuicError | undefined {
  const packet = Buffer.concat([Buffer.from('..'), id, token]);
  const error = ids.add(sequence, retirePriorTo, packet, 2, id.length, 2 + id.length);
  packet.fill(0);
  return error;
}

/** Sends all retirements that are due. */
function retire(ids: PeerConnectionIds): number[] {
  const sent: number[] = [];
  for (let due = ids.retirementDue; due !== undefined; due = ids.retirementDue) {
    sent.push(due);
    ids.onRetirementSent(due);
  }
  return sent;
}

describe('ids issued by the peer (RFC 9000 §5.1.2)', () => {
  test('a new path takes the next one, and retires the one before (§9.5)', () => {
    const ids = new PeerConnectionIds(idOf(0));
    assert.equal(change(ids), false);
    add(ids, 2);
    add(ids, 1);
    assert.equal(change(ids), true);
    assert.deepEqual(ids.current, idOf(1));
    assert.deepEqual(retire(ids), [0]);
    assert.equal(change(ids), true);
    assert.deepEqual(ids.current, idOf(2));
    assert.equal(change(ids), false);
  });

  test('Retire Prior To retires ids, and the one in use is replaced (§5.1.2)', () => {
    const ids = new PeerConnectionIds(idOf(0));
    add(ids, 1);
    assert.equal(add(ids, 2, 2), undefined);
    assert.deepEqual(ids.current, idOf(2));
    assert.deepEqual(retire(ids), [0, 1]);
    // This one was delayed.
    assert.equal(add(ids, 1), undefined);
    assert.deepEqual(retire(ids), []);
  });

  test('an id that arrives after it was retired is retired at once (§19.15)', () => {
    const ids = new PeerConnectionIds(idOf(0));
    add(ids, 3, 3);
    retire(ids);
    assert.equal(add(ids, 2), undefined);
    assert.deepEqual(retire(ids), [2]);
    assert.deepEqual(ids.current, idOf(3));
  });

  test('a lost retirement is repeated until it is acknowledged', () => {
    const ids = new PeerConnectionIds(idOf(0));
    add(ids, 1, 1);
    retire(ids);
    ids.onLost(0);
    assert.deepEqual(retire(ids), [0]);
    ids.onAcknowledged(0);
    ids.onLost(0);
    assert.deepEqual(retire(ids), []);
  });

  test('each path has an id of its own, and keeps it until it is forgotten (§9.5)', () => {
    const ids = new PeerConnectionIds(idOf(0));
    const [first, second, third, fourth] = [{}, {}, {}, {}];
    assert.deepEqual(ids.idFor(second), idOf(0), 'without a spare there is no other');
    for (const n of [1, 2]) add(ids, n);
    assert.deepEqual(ids.idFor(second), idOf(1));
    assert.deepEqual(ids.idFor(third), idOf(2));
    assert.deepEqual(ids.idFor(second), idOf(1));
    assert.deepEqual(ids.current, idOf(0));
    ids.use(third, first);
    assert.deepEqual(ids.current, idOf(2));
    assert.deepEqual(ids.idFor(first), idOf(0));
    assert.deepEqual(retire(ids), []);
    assert.equal(ids.isResetToken(tokenOf(1), 0), true);
    ids.retireUnused((path) => path === first);
    assert.deepEqual(retire(ids), [1]);
    assert.equal(ids.isResetToken(tokenOf(1), 0), false);
    add(ids, 3);
    assert.deepEqual(ids.idFor(fourth), idOf(3));
    // A repeated frame of an id in use, and one of an id that was retired.
    add(ids, 0);
    add(ids, 1);
    assert.deepEqual(ids.idFor(first), idOf(0));
  });

  test('the peer may have ids of all paths retired (§5.1.2)', () => {
    const ids = new PeerConnectionIds(idOf(0));
    const [first, second] = [{}, {}];
    for (const n of [1, 2]) add(ids, n);
    ids.idFor(second);
    add(ids, 3, 3);
    assert.deepEqual(ids.current, idOf(3));
    assert.deepEqual(new Set(retire(ids)), new Set([0, 1, 2]));
    assert.deepEqual(ids.idFor(second), idOf(3), 'until there is a spare');
    add(ids, 4, 3);
    assert.deepEqual(ids.idFor(second), idOf(4));
    ids.use(second, first);
    assert.deepEqual([ids.current, ids.idFor(first)], [idOf(4), idOf(3)]);
  });

  test('an id that arrives late is retired, and has others retired all the same (§19.15)', () => {
    const ids = new PeerConnectionIds(idOf(0));
    const [first, second] = [{}, {}];
    add(ids, 3);
    assert.deepEqual(ids.idFor(second), idOf(3));
    add(ids, 2, 2);
    assert.deepEqual(new Set(retire(ids)), new Set([0, 2]));
    assert.deepEqual(ids.current, idOf(3));
    add(ids, 4);
    ids.use(second, first);
    assert.deepEqual(ids.current, idOf(4));
  });

  test('repeated frames change nothing (§19.15)', () => {
    const ids = new PeerConnectionIds(idOf(0));
    for (let i = 0; i < 20; i++) assert.equal(add(ids, 1), undefined);
    assert.equal(change(ids), true);
    assert.equal(add(ids, 1), undefined);
    assert.equal(change(ids), false);
  });

  for (const { name, frame, code } of [
    {
      name: 'a sequence number with another id',
      frame: (ids: PeerConnectionIds) => add(ids, 1, 0, { id: idOf(9) }),
      code: PROTOCOL_VIOLATION,
    },
    {
      name: 'a sequence number with another token',
      frame: (ids: PeerConnectionIds) => add(ids, 1, 0, { token: tokenOf(9) }),
      code: PROTOCOL_VIOLATION,
    },
    {
      name: 'an id with another sequence number',
      frame: (ids: PeerConnectionIds) => add(ids, 2, 0, { id: idOf(1) }),
      code: PROTOCOL_VIOLATION,
    },
    {
      name: 'the id in use with another sequence number',
      frame: (ids: PeerConnectionIds) => add(ids, 2, 0, { id: idOf(0) }),
      code: PROTOCOL_VIOLATION,
    },
    {
      name: 'an id that retires itself',
      frame: (ids: PeerConnectionIds) => add(ids, 2, 3),
      code: FRAME_ENCODING_ERROR,
    },
  ]) {
    test(`${name} is an error (§19.15)`, () => {
      const ids = new PeerConnectionIds(idOf(0));
      add(ids, 1);
      const error = frame(ids);
      assert.equal(error?.code, code);
      assert.equal(error.frameType, 0x18);
    });
  }

  test('new ids for a peer whose id is empty are an error (§19.15)', () => {
    const ids = new PeerConnectionIds(new Uint8Array(0));
    assert.equal(add(ids, 1)?.code, PROTOCOL_VIOLATION);
    assert.equal(change(ids), false);
  });

  test('more ids than announced are an error (§5.1.1)', () => {
    const ids = new PeerConnectionIds(idOf(0));
    for (let n = 1; n < ACTIVE_CONNECTION_ID_LIMIT; n++) assert.equal(add(ids, n), undefined);
    assert.equal(add(ids, 9)?.code, CONNECTION_ID_LIMIT_ERROR);
  });

  test('a peer that has ids retired without end, and acknowledges nothing, is refused (§5.1.2)', () => {
    const ids = new PeerConnectionIds(idOf(0));
    for (let n = 1; n <= MAX_RETIREMENTS; n++) assert.equal(add(ids, n, n), undefined);
    assert.equal(add(ids, 100, 100)?.code, CONNECTION_ID_LIMIT_ERROR);
  });

  test('it may go on when it acknowledges them', () => {
    const ids = new PeerConnectionIds(idOf(0));
    for (let n = 1; n < 100; n++) {
      assert.equal(add(ids, n, n), undefined);
      for (const sequence of retire(ids)) ids.onAcknowledged(sequence);
    }
    assert.deepEqual(ids.current, idOf(99));
  });

  test('the id of the handshake is replaced by the one the server chose (§7.2)', () => {
    const ids = new PeerConnectionIds(idOf(0));
    ids.setFirst(idOf(50), tokenOf(50));
    assert.deepEqual(ids.current, idOf(50));
    add(ids, 1);
    change(ids);
    ids.setFirst(idOf(60), undefined);
    assert.deepEqual(ids.current, idOf(1));
  });

  test('only the token of the id in use resets the connection (§10.3.1)', () => {
    const ids = new PeerConnectionIds(idOf(0));
    add(ids, 1);
    const isReset = (sequence: number): boolean =>
      ids.isResetToken(Buffer.concat([Buffer.alloc(30), tokenOf(sequence)]), 30);
    assert.equal(isReset(0), false);
    ids.setFirst(idOf(0), tokenOf(0));
    assert.equal(isReset(0), true);
    assert.equal(isReset(1), false);
    change(ids);
    assert.equal(isReset(0), false);
    assert.equal(isReset(1), true);
  });

  test('random frames leave one id in use, few others, and few retirements', () => {
    const step = fc.oneof(
      fc.record({ add: fc.nat(30), retirePriorTo: fc.nat(30) }),
      fc.constant('change' as const),
      fc.record({ acknowledge: fc.nat(30) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100, size: 'max' }), (steps) => {
        const ids = new PeerConnectionIds(idOf(0));
        const retired = new Set<number>();
        for (const one of steps) {
          if (one === 'change') change(ids);
          else if ('add' in one) {
            if (add(ids, one.add, one.retirePriorTo) !== undefined) return;
          } else ids.onAcknowledged(one.acknowledge);
          const sent = retire(ids);
          assert.ok(sent.length <= MAX_RETIREMENTS);
          for (const sequence of sent) retired.add(sequence);
          assert.equal(retired.has((ids.current[0] ?? 0) - 1), false);
        }
      }),
    );
  });
});
