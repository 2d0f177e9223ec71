import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  FIRST_LOCAL_PORT,
  LAST_LOCAL_PORT,
  MAX_ALL_QUEUED_BYTES,
  STRAY_RESPONSES_A_SECOND,
  UNUSED_ATTEMPTS,
  ICMP_ERRORS_TO_ADDRESS_A_SECOND,
  CHUNK_OVERHEAD,
  LEAST_BUFFER,
  MAX_BACKLOG_PER_ADDRESS,
} from '../../src/limits.ts';
import { writeIcmpError } from '../../src/ip/icmp-replies.ts';
import type { TcpFlow } from '../../src/flows/tcp-flow.ts';
import { IcmpMessage, readIcmp } from '../../src/wire/icmp.ts';
import { IpProtocol } from '../../src/wire/ip-packet.ts';
import { NextHeader } from '../../src/wire/ipv6.ts';
import { TcpFlag, type TcpSegment } from '../../src/wire/tcp.ts';
import {
  CLIENT4,
  CLIENT6,
  endpoint,
  IPV6,
  ipPacket,
  parsed,
  pattern,
  segment,
  SERVER4,
  SERVER6,
  tcpPacket,
  transportPacket,
  udpPacket,
} from '../../../../test/support/data/ip-packets.ts';
import { BareStack, sentSegment } from '../../../../test/support/netstack/bare-stack.ts';

const { SYN, ACK, RST, FIN, ECE, CWR } = TcpFlag;
const NO_BYTES = new Uint8Array(0);

/** The ICMP message in a packet that was sent. */
function icmpOf(bytes: Uint8Array | undefined): IcmpMessage {
  assert.ok(bytes);
  const message = new IcmpMessage();
  assert.equal(readIcmp(parsed(bytes), false, message), undefined);
  return message;
}

const echoRequest = (size: number, isV6: boolean): Uint8Array => {
  const message = Uint8Array.of(isV6 ? 128 : 8, 0, 0, 0, 1, 2, 3, 4, ...pattern(size));
  return transportPacket(isV6 ? IpProtocol.ICMPV6 : IpProtocol.ICMP, message, 2, isV6 ? IPV6 : {});
};

describe('segments for no connection', () => {
  test('get a reset with their acknowledgment as its number (RFC 9293 §3.10.7.1)', () => {
    const { tcp, ip } = sentSegment(
      new BareStack().receive(tcpPacket(segment({ flags: ACK, acknowledgment: 77 })))[0],
    );
    assert.equal(tcp.flags, RST);
    assert.equal(tcp.sequence, 77);
    assert.deepEqual([ip.source, ip.destination], [SERVER4, CLIENT4]);
  });

  test('get a reset that acknowledges them where they have no acknowledgment', () => {
    const stack = new BareStack({ addresses: [SERVER6] });
    const packet = tcpPacket(segment({ flags: SYN, sequence: 0xffff_ffff }), NO_BYTES, IPV6);
    const { tcp } = sentSegment(stack.receive(packet)[0]);
    assert.equal(tcp.flags, RST | ACK);
    assert.deepEqual([tcp.sequence, tcp.acknowledgment], [0, 0]);
  });

  test('get no reset when they are resets', () => {
    assert.deepEqual(new BareStack().receive(tcpPacket(segment({ flags: RST }))), []);
  });

  test('get a bounded number of resets', () => {
    const stack = new BareStack();
    const flood = Array.from({ length: 3 * STRAY_RESPONSES_A_SECOND }, (_, index) =>
      tcpPacket(segment({ flags: ACK, sequence: index })),
    );
    assert.equal(stack.receive(...flood).length, STRAY_RESPONSES_A_SECOND);
    stack.advance(500);
    assert.equal(stack.receive(...flood).length, STRAY_RESPONSES_A_SECOND / 2);
  });
});

describe('explicit congestion notification (RFC 3168), which is not offered', () => {
  const marked = { trafficClass: 3 };

  test('does not keep a client from connecting that asks for it', () => {
    const stack = new BareStack({
      onEvent({ network, flow, event }) {
        if (network === 'tcp' && event === 'requested') stack.stack.tcp.accept(flow);
      },
    });
    const syn = segment({ flags: SYN | ECE | CWR, sequence: 999, mss: 1460 });
    const { tcp } = sentSegment(stack.receive(tcpPacket(syn))[0]);
    assert.equal(tcp.flags, SYN | ACK);
    const acknowledgment = (tcp.sequence + 1) >>> 0;
    const next = { sequence: 1000, acknowledgment, window: 65_535 };
    const data = segment({ ...next, flags: ACK | ECE | CWR });
    const sent = stack.receive(tcpPacket(data, pattern(10), marked));
    assert.equal(sentSegment(sent[0]).tcp.flags, ACK);
    assert.ok(stack.events.includes('readable'));
  });

  test('does not keep a connection from a server that would use it', () => {
    const stack = new BareStack({ addresses: [CLIENT4] });
    const flow = stack.stack.connect(SERVER4, 0);
    assert.ok(flow);
    const { tcp } = sentSegment(stack.settle()[0]);
    assert.equal(tcp.flags, SYN);
    const reply = segment({
      flags: SYN | ACK | ECE,
      sourcePort: 443,
      destinationPort: flow.local.port,
      sequence: 5,
      acknowledgment: (tcp.sequence + 1) >>> 0,
      mss: 1460,
    });
    const parts = { source: SERVER4, destination: flow.local, ...marked };
    assert.equal(sentSegment(stack.receive(tcpPacket(reply, NO_BYTES, parts))[0]).tcp.flags, ACK);
    assert.equal(flow.connection.state, 'ESTABLISHED');
  });
});

describe('packets to groups and to all hosts of a network', () => {
  const hosts = ['224.0.0.251', '239.255.255.250', '255.255.255.255', '172.19.0.3'];
  const broadcasts = [endpoint('172.19.0.3')];

  test('make no associations and get no responses', () => {
    const stack = new BareStack({ broadcasts });
    for (const host of hosts) {
      const destination = endpoint(host, 5353);
      assert.deepEqual(stack.receive(udpPacket(pattern(8), { destination })), []);
      assert.deepEqual(
        stack.receive(tcpPacket(segment({ flags: SYN }), NO_BYTES, { destination })),
        [],
      );
      const ping = transportPacket(1, Uint8Array.of(8, 0, 0, 0, 0, 1, 0, 1), 2, { destination });
      assert.deepEqual(stack.receive(ping), []);
    }
    assert.equal(stack.stack.flows, 0);
    assert.deepEqual(new Set(stack.drops), new Set(['group']));
  });

  test('are dropped in IPv6 too, as are router solicitations and MLD', () => {
    const stack = new BareStack();
    const parts = { source: CLIENT6, destination: endpoint('ff02::2', 5353) };
    assert.deepEqual(stack.receive(udpPacket(pattern(8), parts)), []);
    for (const type of [128, 133, 135, 143]) {
      const message = Uint8Array.of(type, 0, 0, 0, 0, 0, 0, 0);
      assert.deepEqual(stack.receive(transportPacket(IpProtocol.ICMPV6, message, 2, parts)), []);
    }
    assert.equal(stack.stack.flows, 0);
    assert.deepEqual(new Set(stack.drops), new Set(['group']));
  });

  test('are not for own ports', () => {
    const stack = new BareStack({ addresses: [SERVER4] });
    const flow = stack.stack.udp.bind('', 0);
    assert.ok(flow);
    const destination = endpoint('224.0.0.251', flow.local.port);
    stack.receive(udpPacket(pattern(8), { destination }));
    assert.equal(flow.take(), undefined);
  });
});

describe('packets that are not for this stack', () => {
  test('are dropped without a response', () => {
    const stack = new BareStack({ addresses: [endpoint('203.0.113.1')] });
    assert.deepEqual(stack.receive(tcpPacket(segment({ flags: SYN })), echoRequest(8, false)), []);
    assert.deepEqual(stack.drops, ['not local', 'not local']);
  });

  test('are reported when nothing speaks their protocol', () => {
    for (const isV6 of [false, true]) {
      const packet = transportPacket(132, pattern(24), 8, isV6 ? IPV6 : {});
      const message = icmpOf(new BareStack().receive(packet)[0]);
      assert.equal(message.kind, isV6 ? 'parameter problem' : 'unreachable');
    }
  });

  test('are no unknown protocol when nothing follows (RFC 8200 §4.7)', () => {
    const stack = new BareStack();
    for (const parts of [{}, IPV6]) {
      assert.deepEqual(stack.receive(ipPacket(NextHeader.NONE, pattern(24), parts)), []);
    }
    assert.deepEqual(stack.drops, ['no next header', 'no next header']);
  });

  test('are reported when no port is bound', () => {
    const stack = new BareStack({ addresses: [SERVER4, SERVER6] });
    for (const parts of [{}, IPV6]) {
      const message = icmpOf(stack.receive(udpPacket(pattern(8), parts))[0]);
      assert.equal(message.kind, 'unreachable');
      assert.equal(message.code, parts === IPV6 ? 4 : 3);
    }
    assert.deepEqual(stack.drops, ['no socket', 'no socket']);
  });
});

describe('echo requests', () => {
  test('get their reply, in fragments where they came in fragments', () => {
    for (const isV6 of [false, true]) {
      const stack = new BareStack();
      const [reply] = stack.receive(echoRequest(100, isV6));
      const message = icmpOf(reply);
      assert.equal(message.kind, 'echo reply');
      assert.equal(message.end - message.payload, 100);
      const large = stack.receive(echoRequest(4000, isV6));
      assert.equal(large.length, 3);
      for (const packet of large) assert.ok(packet.length <= 1500);
    }
  });
});

test('a connection that is refused later is quoted as it came', () => {
  const requested: TcpFlow[] = [];
  const stack = new BareStack({
    onEvent({ network, flow }) {
      if (network === 'tcp') requested.push(flow);
    },
  });
  const syn = tcpPacket(segment({ flags: SYN, sequence: 999, mss: 1460 }));
  assert.deepEqual(stack.receive(syn), []);
  const [flow] = requested;
  assert.ok(flow);
  stack.stack.refuse(flow, 'host unreachable', 0);
  const message = icmpOf(stack.settle()[0]);
  assert.equal(message.kind, 'unreachable');
  assert.deepEqual(
    [...message.bytes.subarray(message.payload, message.payload + syn.length)],
    [...syn],
  );
});

describe('datagrams', () => {
  test('make one association for each client, whatever their destination', () => {
    const flows = new Set<unknown>();
    const peers: string[] = [];
    const stack = new BareStack({
      onEvent({ network, flow, event }) {
        assert.ok(network === 'udp');
        flows.add(flow);
        if (event !== 'readable') return;
        for (let packet = flow.take(); packet; packet = flow.take()) {
          peers.push(`${packet.peer.host}:${packet.peer.port}`);
        }
      },
    });
    stack.receive(
      udpPacket(pattern(1)),
      udpPacket(pattern(2), { destination: endpoint('198.51.100.9', 53) }),
      udpPacket(pattern(3)),
    );
    assert.equal(flows.size, 1);
    assert.deepEqual(peers, ['198.51.100.2:443', '198.51.100.9:53', '198.51.100.2:443']);
    stack.receive(udpPacket(pattern(1), { source: { ...CLIENT4, port: 40_001 } }));
    assert.equal(flows.size, 2);
  });

  test('keep their bytes while they wait, when the device uses its buffer again', () => {
    const received: Uint8Array[] = [];
    const stack = new BareStack({
      onEvent({ network, flow, event }) {
        if (network !== 'udp' || event !== 'readable') return;
        for (let packet = flow.take(); packet; packet = flow.take()) received.push(packet.data);
      },
    });
    const sent = [pattern(30, 1), pattern(30, 2)];
    stack.receive(...sent.map((data) => udpPacket(data)));
    assert.deepEqual(
      received.map((data) => [...data]),
      sent.map((data) => [...data]),
    );
  });

  test('are dropped in silence where UDP is switched off', () => {
    const stack = new BareStack({ settings: { udp: false } });
    assert.deepEqual(stack.receive(udpPacket(pattern(1))), []);
    assert.deepEqual(stack.drops, ['udp disabled']);
    assert.equal(stack.stack.flows, 0);
  });

  test('that are not read are bounded for all clients together, and leave each a little', () => {
    const stack = new BareStack();
    const data = pattern(60_000);
    for (let index = 0; index < 1200; index++) {
      stack.receive(udpPacket(data, { source: { ...CLIENT4, port: 1024 + index } }));
    }
    assert.ok(stack.stack.udp.queued <= MAX_ALL_QUEUED_BYTES);
    assert.ok(stack.drops.includes('queue'));
    const before = stack.drops.length;
    stack.receive(udpPacket(pattern(100), { source: { ...CLIENT4, port: 50_000 } }));
    assert.equal(stack.drops.length, before);
    for (const flow of stack.stack.udp) stack.stack.udp.close(flow);
    assert.equal(stack.stack.udp.queued, 0);
  });

  test('without a port to respond to make no association', () => {
    const stack = new BareStack();
    stack.receive(udpPacket(pattern(1), { source: { ...CLIENT4, port: 0 } }));
    assert.equal(stack.stack.flows, 0);
  });
});

/** A client's side of a connection to a stack that accepts everything. */
function accepted(): { stack: BareStack; flow: () => TcpFlow; client: Client } {
  let flow: TcpFlow | undefined;
  const stack = new BareStack({
    onEvent(event) {
      if (event.network !== 'tcp') return;
      flow ??= event.flow;
      if (event.event === 'requested') stack.stack.tcp.accept(event.flow);
    },
  });
  const [synAck] = stack.receive(tcpPacket(segment({ flags: SYN, sequence: 999, mss: 1460 })));
  const { tcp } = sentSegment(synAck);
  const client = { sequence: 1000, acknowledgment: (tcp.sequence + 1) >>> 0 };
  stack.receive(tcpPacket(segment({ ...client, flags: ACK, window: 65_535 })));
  return {
    stack,
    client,
    flow: () => {
      assert.ok(flow);
      return flow;
    },
  };
}

interface Client {
  readonly sequence: number;
  readonly acknowledgment: number;
}

describe('what connections hold', () => {
  test('is counted until it is read, acknowledged, or given up', () => {
    const { stack, flow, client } = accepted();
    const { tcp } = stack.stack;
    const { connection } = flow();
    stack.receive(tcpPacket(segment({ ...client, flags: ACK, window: 65_535 }), pattern(1000)));
    assert.equal(tcp.held, 1024);
    connection.write(pattern(500));
    stack.stack.tcp.touch(flow());
    stack.settle();
    assert.equal(tcp.held, 1024 + 500 + CHUNK_OVERHEAD);
    connection.read(stack.now);
    const next = { sequence: 2000, acknowledgment: client.acknowledgment + 200, window: 65_535 };
    stack.receive(tcpPacket(segment({ ...next, flags: ACK })));
    assert.equal(tcp.held, 300 + CHUNK_OVERHEAD);
    connection.abort(stack.now);
    stack.stack.tcp.touch(flow());
    stack.settle();
    assert.equal(tcp.held, 0);
    assert.equal(stack.stack.flows, 0);
  });

  /** Clients that fill their windows, with gaps or without, and the connections that are not read. */
  function flooded(clients: number, maxHeld: number, step: number): TcpFlow[] {
    const flows: TcpFlow[] = [];
    const stack = new BareStack({
      maxHeld,
      onEvent({ network, flow, event }) {
        if (network !== 'tcp' || event !== 'requested') return;
        flows.push(flow);
        stack.stack.tcp.accept(flow);
      },
    });
    for (let index = 0; index < clients; index++) {
      const sourcePort = 1024 + index;
      const syn = segment({ sourcePort, flags: SYN, sequence: 999, mss: 1460 });
      const { tcp } = sentSegment(stack.receive(tcpPacket(syn))[0]);
      const acknowledgment = (tcp.sequence + 1) >>> 0;
      const header = { sourcePort, acknowledgment, flags: ACK, window: 65_535 };
      stack.receive(tcpPacket(segment({ ...header, sequence: 1000 })));
      for (let offset = step - 1000; offset < 60_000; offset += step) {
        stack.receive(tcpPacket(segment({ ...header, sequence: 1000 + offset }), pattern(1000)));
        const bound = maxHeld + flows.length * 2 * LEAST_BUFFER;
        assert.ok(stack.stack.tcp.held <= bound, `${stack.stack.tcp.held} bytes`);
      }
    }
    return flows;
  }

  test('is bounded for all connections together, and leaves each of them a little', () => {
    const flows = flooded(50, 256 * 1024, 1000);
    const last = flows.at(-1)?.connection;
    assert.ok(last);
    let read = 0;
    for (let chunk = last.read(0); chunk; chunk = last.read(0)) read += chunk.length;
    assert.equal(read, LEAST_BUFFER);
    assert.equal(last.write(pattern(LEAST_BUFFER)), false);
  });

  test('is bounded, too, where clients leave gaps', () => {
    flooded(50, 256 * 1024, 7000);
  });
});

describe('ICMP errors', () => {
  /** The report of a router about a packet that was sent. */
  function tooBig(cause: Uint8Array, mtu: number): Uint8Array {
    const packet = new Uint8Array(1500);
    const size = writeIcmpError('too big', parsed(cause), endpoint('10.9.9.9'), mtu, packet, 0);
    return packet.subarray(0, size);
  }

  test('lower the size of segments when they quote one in flight (RFC 5927)', () => {
    const { stack, flow } = accepted();
    flow().connection.write(pattern(4000));
    stack.stack.tcp.touch(flow());
    const [first] = stack.settle();
    assert.ok(first);
    assert.equal(first.length, 1500);
    const again = stack.receive(tooBig(first, 1300));
    again.push(...stack.advance(1000));
    assert.ok(again.length > 0);
    for (const packet of again) assert.ok(packet.length <= 1300, `${packet.length} bytes`);
  });

  test('lower the segments of all connections of the destination', () => {
    const stack = new BareStack({
      onEvent({ network, flow, event }) {
        if (network === 'tcp' && event === 'requested') stack.stack.tcp.accept(flow);
      },
    });
    const flows = [40_000, 40_001].map((sourcePort) => {
      const syn = segment({ sourcePort, flags: SYN, sequence: 999, mss: 1460 });
      const { tcp } = sentSegment(stack.receive(tcpPacket(syn))[0]);
      const acknowledgment = (tcp.sequence + 1) >>> 0;
      const header = { sourcePort, sequence: 1000, acknowledgment, flags: ACK, window: 65_535 };
      stack.receive(tcpPacket(segment(header)));
      const flow = [...stack.stack.tcp].find(({ remote }) => remote.port === sourcePort);
      assert.ok(flow);
      return flow;
    });
    const [one, other] = flows;
    assert.ok(one && other);
    one.connection.write(pattern(4000));
    stack.stack.tcp.touch(one);
    const [first] = stack.settle();
    assert.ok(first);
    stack.receive(tooBig(first, 1300));
    other.connection.write(pattern(4000));
    stack.stack.tcp.touch(other);
    const sent = stack.settle();
    assert.ok(sent.length >= 4);
    for (const packet of sent) assert.ok(packet.length <= 1300, `${packet.length} bytes`);
  });

  test('mean nothing when they quote what was never sent', () => {
    const { stack, flow } = accepted();
    flow().connection.write(pattern(4000));
    stack.stack.tcp.touch(flow());
    const [first] = stack.settle();
    assert.ok(first);
    const forged = tcpPacket(segment({ sequence: 5, flags: ACK }), pattern(1400), {
      source: SERVER4,
      destination: CLIENT4,
    });
    stack.receive(tooBig(forged, 600));
    const [next] = stack.advance(3000);
    assert.equal(next?.length, 1500);
  });
});

describe('TIME-WAIT', () => {
  test('responds to the FIN of a lost ACK, and gives way to a newer SYN', () => {
    const { stack, flow, client } = accepted();
    flow().connection.closeWrite();
    stack.stack.tcp.touch(flow());
    const [fin] = stack.settle();
    assert.equal(sentSegment(fin).tcp.flags & FIN, FIN);
    const behind = { sequence: 1000, acknowledgment: client.acknowledgment + 1, window: 65_535 };
    const theirs = tcpPacket(segment({ ...behind, flags: FIN | ACK }));
    assert.equal(sentSegment(stack.receive(theirs)[0]).tcp.flags, ACK);
    assert.equal(stack.stack.flows, 0);
    assert.equal(stack.stack.tcp.timeWait, 1);
    assert.equal(sentSegment(stack.receive(theirs)[0]).tcp.flags, ACK);
    const syn = tcpPacket(segment({ flags: SYN, sequence: 2000, mss: 1460 }));
    const { tcp } = sentSegment(stack.receive(syn)[0]);
    assert.equal(tcp.flags, SYN | ACK);
    assert.equal(stack.stack.tcp.timeWait, 0);
    assert.equal(stack.stack.flows, 1);
  });

  test('ends after its time', () => {
    const { stack, flow, client } = accepted();
    flow().connection.closeWrite();
    stack.stack.tcp.touch(flow());
    stack.settle();
    const behind = { sequence: 1000, acknowledgment: client.acknowledgment + 1, window: 65_535 };
    stack.receive(tcpPacket(segment({ ...behind, flags: FIN | ACK })));
    stack.advance(59_999);
    assert.equal(stack.stack.tcp.timeWait, 1);
    stack.advance(1);
    assert.equal(stack.stack.tcp.timeWait, 0);
    assert.equal(stack.stack.nextTimeout(), Infinity);
  });
});

describe('own ports with one destination', () => {
  const OWN_PORTS = LAST_LOCAL_PORT - FIRST_LOCAL_PORT + 1;

  /** A stack from which connections begin, and a server that accepts each and lets it be closed. */
  function dialling(timestamps: boolean): {
    readonly stack: BareStack;
    readonly begin: () => { readonly flow: TcpFlow; readonly syn: TcpSegment };
    readonly establish: (flow: TcpFlow, syn: TcpSegment) => void;
    /** @returns the number behind this side's FIN. */
    readonly close: (flow: TcpFlow, syn: TcpSegment) => number;
  } {
    const stack = new BareStack({ addresses: [CLIENT4] });
    const reply = (flow: TcpFlow, fields: Partial<TcpSegment>): Uint8Array => {
      const { port } = flow.local;
      const ports = { sourcePort: 443, destinationPort: port, window: 65_535 };
      const stamps = timestamps ? { hasTimestamps: true, timestamp: 9_000 + stack.now } : {};
      return tcpPacket(segment({ ...ports, ...stamps, ...fields }), NO_BYTES, {
        source: SERVER4,
        destination: flow.local,
      });
    };
    return {
      stack,
      begin() {
        const flow = stack.stack.connect(SERVER4, stack.now);
        assert.ok(flow, 'a port');
        const { tcp } = sentSegment(stack.settle()[0]);
        assert.equal(tcp.flags, SYN);
        return { flow, syn: tcp };
      },
      establish(flow, { sequence }) {
        const acknowledgment = (sequence + 1) >>> 0;
        stack.receive(reply(flow, { flags: SYN | ACK, sequence: 5, acknowledgment, mss: 1460 }));
        assert.equal(flow.connection.state, 'ESTABLISHED');
      },
      close(flow, { sequence }) {
        flow.connection.closeWrite();
        stack.stack.tcp.touch(flow);
        stack.settle();
        const acknowledgment = (sequence + 2) >>> 0;
        stack.receive(reply(flow, { flags: FIN | ACK, sequence: 6, acknowledgment }));
        assert.equal(flow.connection.state, 'TIME-WAIT');
        return acknowledgment;
      },
    };
  }

  for (const timestamps of [true, false]) {
    const how = timestamps ? 'with timestamps' : 'without timestamps';
    test(`are used again when all are in TIME-WAIT, ${how}`, () => {
      const { stack, begin, establish, close } = dialling(timestamps);
      const ends = new Map<number, number>();
      const stamps = new Map<number, number>();
      for (let count = 0; count < OWN_PORTS; count++) {
        const { flow, syn } = begin();
        establish(flow, syn);
        ends.set(flow.local.port, close(flow, syn));
        stamps.set(flow.local.port, syn.timestamp);
      }
      assert.ok(stack.stack.tcp.timeWait > OWN_PORTS * 0.98, 'nearly all ports wait');
      stack.advance(2000);
      for (let count = 0; count < 2 * UNUSED_ATTEMPTS; count++) {
        const { flow, syn } = begin();
        const behind = ends.get(flow.local.port);
        if (behind === undefined) continue;
        // RFC 1122 §4.2.2.13: beyond all that the last connection used; RFC 6191: a later timestamp.
        const distance = (syn.sequence - behind) | 0;
        assert.ok(distance > 65_535, `${distance} behind the last FIN`);
        assert.ok(syn.timestamp > (stamps.get(flow.local.port) ?? Infinity));
        establish(flow, syn);
      }
      assert.equal(stack.stack.flows, 2 * UNUSED_ATTEMPTS);
    });
  }

  test('are refused when all have live connections, and only then', () => {
    const { stack, establish } = dialling(true);
    for (;;) {
      const flow = stack.stack.connect(SERVER4, stack.now);
      if (flow === undefined) break;
      const { tcp } = sentSegment(stack.settle()[0]);
      establish(flow, tcp);
    }
    assert.ok(stack.stack.flows > OWN_PORTS * 0.9, `${stack.stack.flows} live connections`);
    const other = stack.stack.connect({ ...SERVER4, port: 444 }, stack.now);
    assert.ok(other, 'ports are those of a destination');
  });
});

describe('a flood of SYNs', () => {
  const syns = (count: number): Uint8Array[] =>
    Array.from({ length: count }, (_, index) =>
      tcpPacket(segment({ flags: SYN, sequence: index, sourcePort: 1024 + index })),
    );

  test('keeps no more than the backlog of those that wait for their dial', () => {
    const stack = new BareStack();
    assert.deepEqual(stack.receive(...syns(10_000)), []);
    assert.equal(stack.stack.flows, MAX_BACKLOG_PER_ADDRESS);
    assert.ok(stack.drops.every((reason) => reason === 'backlog'));
  });

  test('pushes out those whose client does not respond, and no established connection', () => {
    const { stack, flow } = accepted();
    const { connection } = flow();
    stack.receive(...syns(10_000));
    assert.equal(stack.stack.flows, MAX_BACKLOG_PER_ADDRESS + 1);
    assert.equal(connection.state, 'ESTABLISHED');
    // Those that stay give up by themselves.
    stack.advance(100_000);
    assert.equal(stack.stack.flows, 1);
    assert.equal(connection.state, 'ESTABLISHED');
  });

  test('is not helped by requests that were refused in silence: they leave nothing', () => {
    const stack = new BareStack({
      onEvent({ network, flow, event }) {
        if (network === 'tcp' && event === 'requested') stack.stack.refuse(flow, 'timeout', 0);
      },
    });
    stack.receive(...syns(MAX_BACKLOG_PER_ADDRESS));
    stack.receive(tcpPacket(segment({ flags: SYN, sourcePort: 50_000 })));
    assert.equal(
      stack.events.filter((event) => event === 'requested').length,
      MAX_BACKLOG_PER_ADDRESS + 1,
    );
    assert.equal(stack.stack.flows, 0);
    assert.equal(stack.stack.nextTimeout(), Infinity);
  });
});

describe('requests for unreachable hosts', () => {
  test('get an ICMP message each, and beyond the limit of those a RST', () => {
    const stack = new BareStack({
      onEvent({ network, flow, event }) {
        if (network !== 'tcp' || event !== 'requested') return;
        stack.stack.refuse(flow, 'host unreachable', stack.now);
      },
    });
    const count = ICMP_ERRORS_TO_ADDRESS_A_SECOND + 100;
    const sent = Array.from({ length: count }, (_, index) =>
      stack.receive(tcpPacket(segment({ flags: SYN, sourcePort: 1024 + index }))),
    ).flat();
    const protocols = sent.map((packet) => parsed(packet).protocol);
    const reports = protocols.filter((protocol) => protocol === IpProtocol.ICMP);
    assert.equal(reports.length, ICMP_ERRORS_TO_ADDRESS_A_SECOND);
    assert.equal(protocols.length, count);
  });
});
