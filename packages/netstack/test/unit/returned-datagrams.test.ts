import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { IpEndpoint } from '@weir/base/ip';
import type { UdpFlow } from '../../src/flows/udp-flow.ts';
import { endpoint, parsed, udpPacket } from '../../../../test/support/data/ip-packets.ts';
import { BareStack } from '../../../../test/support/netstack/bare-stack.ts';

const DATA = Buffer.from('echo');
const [ONE, OTHER] = [endpoint('203.0.113.7', 7), endpoint('203.0.113.8', 7)];
const ELSEWHERE = endpoint('203.0.113.9', 9);

/**
 * A stack whose device gets everything that is sent to services, as a router's does: what the stack sends
 * to a service as a client comes back. Each service responds to every datagram.
 */
function router() {
  const flows: UdpFlow[] = [];
  /** Datagrams that were relayed and wait for the response of their service. */
  const relayed: { readonly flow: UdpFlow; readonly peer: { host: string; port: number } }[] = [];
  const bare = new BareStack({
    onEvent({ network, flow }) {
      if (network !== 'udp') return;
      flow.owner ??= { onEvent: () => undefined, close: () => undefined };
      if (!flows.includes(flow)) flows.push(flow);
      for (let packet = flow.take(); packet; packet = flow.take()) {
        relayed.push({ flow, peer: packet.peer });
      }
    },
  });
  const arrive = (source: IpEndpoint, destination: IpEndpoint): void => {
    assert.deepEqual(bare.receive(udpPacket(DATA, { source, destination })), []);
  };
  /** Lets the services respond to all that was relayed, and what is sent to clients come back. */
  const respond = (isReturned = true): number => {
    const now = relayed.splice(0);
    for (const { flow, peer } of now) {
      const numbers = flow.peers.numbers(peer);
      assert.ok(numbers);
      bare.stack.udp.send(flow, DATA, numbers, bare.now);
      for (const sent of bare.settle()) {
        const { source, destination } = parsed(sent);
        assert.deepEqual([source.d, destination.d], [numbers.d, flow.remote.d]);
        if (isReturned) bare.receive(sent);
      }
    }
    return now.length;
  };
  const total = (rounds = 20): number => {
    let count = 0;
    for (let round = 0; round < rounds; round++) count += respond();
    return count;
  };
  return { bare, flows, arrive, respond, total };
}

describe('datagrams that are routed back to the device', () => {
  test('do not go round between two services for a forged one', () => {
    const { bare, flows, arrive, total } = router();
    arrive(ONE, OTHER);
    assert.equal(total(), 1);
    assert.equal(flows.length, 1);
    assert.deepEqual(bare.drops, ['returned']);
  });

  test('do not go round for forged ones of both services, whatever comes first', () => {
    for (const forged of [
      [ONE, OTHER, OTHER, ONE],
      [ONE, ELSEWHERE, OTHER, ELSEWHERE, ONE, OTHER],
      [ONE, ELSEWHERE, OTHER, ONE, ONE, OTHER],
    ]) {
      const { arrive, total } = router();
      for (let i = 0; i + 1 < forged.length; i += 2) {
        const [source, destination] = [forged[i], forged[i + 1]];
        assert.ok(source && destination);
        arrive(source, destination);
      }
      const count = total();
      assert.ok(count <= forged.length, `${count} datagrams were relayed`);
      assert.equal(total(), 0);
    }
  });

  test('do not go round when one service was slow to respond to the first one', () => {
    const { arrive, respond, total } = router();
    arrive(ONE, OTHER);
    arrive(OTHER, ONE);
    respond(false);
    arrive(ONE, OTHER);
    assert.ok(total() <= 2);
    assert.equal(total(), 0);
  });

  test('are those alone: clients that send to each other, and are not answered, are relayed', () => {
    const { bare, flows, arrive } = router();
    for (let i = 0; i < 3; i++) {
      arrive(ONE, OTHER);
      arrive(OTHER, ONE);
    }
    assert.deepEqual(bare.drops, []);
    assert.equal(flows.length, 2);
  });
});
