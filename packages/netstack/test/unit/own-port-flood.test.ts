import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FIRST_LOCAL_PORT, LAST_LOCAL_PORT } from '../../src/limits.ts';
import type { UdpFlow } from '../../src/flows/udp-flow.ts';
import { CLIENT4, SERVER4, udpPacket } from '../../../../test/support/data/ip-packets.ts';
import { BareStack } from '../../../../test/support/netstack/bare-stack.ts';

const DATA = Buffer.from('data');
const PORTS = LAST_LOCAL_PORT - FIRST_LOCAL_PORT + 1;

/** A stack with associations of own ports. */
function rig() {
  const ended: UdpFlow[] = [];
  const bare = new BareStack({
    addresses: [CLIENT4],
    onEvent({ network, flow, event }) {
      if (network === 'udp' && event === 'expired') ended.push(flow);
    },
  });
  const { udp } = bare.stack;
  const bind = (client: string): UdpFlow => {
    const flow = udp.bind(client, bare.now);
    assert.ok(flow);
    flow.owner = { onEvent: () => undefined, close: () => undefined };
    return flow;
  };
  const exchange = (flow: UdpFlow): void => {
    assert.ok(udp.send(flow, DATA, SERVER4, bare.now));
    const destination = { ...CLIENT4, port: flow.local.port };
    bare.receive(udpPacket(DATA, { source: SERVER4, destination }));
    assert.deepEqual(Buffer.from(flow.take()?.data ?? ''), DATA);
  };
  return { bare, ended, bind, exchange };
}

describe('associations of own ports, as those of a tunnel', () => {
  test('get a port beside a client that has opened one for each, and what is answered goes on', () => {
    const { bare, ended, bind, exchange } = rig();
    const [answered, lasting] = [bind('flood'), bind('other')];
    exchange(answered);
    exchange(lasting);
    exchange(lasting);
    for (let i = 0; i < PORTS + 1000; i++) bind('flood');
    assert.ok(bare.stack.flows <= PORTS);
    for (const flow of [answered, lasting, bind('other'), bind('flood')]) exchange(flow);
    bare.settle();
    assert.ok(ended.length >= 1000);
    assert.ok(ended.every(({ isClosed }) => isClosed));
  });

  test('are not replaced while all are conversations', () => {
    const { bare, ended, bind, exchange } = rig();
    bare.stack.settings = { maxFlows: 2, udp: true, udpIdle: Infinity };
    for (const flow of [bind('a'), bind('b')]) {
      exchange(flow);
      exchange(flow);
    }
    assert.equal(bare.stack.udp.bind('a', bare.now), undefined);
    assert.deepEqual(ended, []);
    bare.now += 60_000;
    exchange(bind('a'));
    assert.equal(bare.stack.flows, 2);
  });
});
