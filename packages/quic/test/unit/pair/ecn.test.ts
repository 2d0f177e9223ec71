import { cubic } from '@weir/congestion';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Ecn } from '@weir/base/ip';
import { Pair } from '../../../../../test/support/quic/pair.ts';

const ECT0 = 2;

/** A megabyte over a path that changes marks; the marks with which the client sent. */
function marksOver(change: (ecn: Ecn) => Ecn): { marks: Ecn[]; pair: Pair } {
  const pair = new Pair({ delay: 10, client: { ecn: true, congestion: cubic } });
  const marks: Ecn[] = [];
  pair.passes = (datagram, towards) => {
    if (towards === 'server') {
      marks.push(datagram.ecn);
      Object.assign(datagram, { ecn: change(datagram.ecn) });
    }
    return true;
  };
  pair.connect();
  const id = pair.client.connection.openStream(true) ?? -1;
  pair.client.send(id, 1_000_000);
  pair.run(() => pair.server.streams.get(id)?.end === 'finished');
  return { marks, pair };
}

test('marks are sent on when the peer reports them (RFC 9000 §13.4.2)', () => {
  const { marks } = marksOver((ecn) => ecn);
  assert.ok(marks.slice(100).filter((ecn) => ecn === ECT0).length > 400);
});

test('marks end on a path that takes them away (RFC 9000 §13.4.2)', () => {
  const { marks } = marksOver(() => 0);
  assert.ok(marks.includes(ECT0));
  assert.ok(!marks.slice(100).includes(ECT0));
});

test('marks end on a path that drops all that are marked (RFC 9000 §13.4.2)', () => {
  const pair = new Pair({
    delay: 10,
    client: { ecn: true, handshakeTimeout: 600_000, idleTimeout: 0 },
    server: { handshakeTimeout: 600_000, idleTimeout: 0 },
  });
  pair.passes = ({ ecn }) => ecn !== ECT0;
  pair.run(() => pair.client.connection.state === 'confirmed', 600_000);
  const id = pair.client.connection.openStream(true) ?? -1;
  pair.client.send(id, 100_000);
  pair.run(() => pair.server.streams.get(id)?.end === 'finished');
});

test('congestion that is marked reduces the window without a loss (RFC 9002 §7.1)', () => {
  let count = 0;
  const { pair } = marksOver((ecn) => (ecn === ECT0 && ++count % 50 === 0 ? 3 : ecn));
  const unmarked = marksOver((ecn) => ecn).pair;
  const marked = pair.client.connection.statistics();
  assert.ok(marked.window < unmarked.client.connection.statistics().window / 2);
});

test('without the setting nothing is marked', () => {
  const pair = new Pair({ delay: 10 });
  pair.passes = ({ ecn }) => {
    assert.equal(ecn, 0);
    return true;
  };
  pair.connect();
});
