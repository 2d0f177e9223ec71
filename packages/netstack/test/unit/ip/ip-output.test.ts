import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { IpEndpoint, DeviceTraits, PacketOutput } from '@weir/base/ip';
import { FragmentReassembly } from '../../../src/ip/fragment-reassembly.ts';
import { ipHeaderSize, IpOutput, largestTransport } from '../../../src/ip/ip-output.ts';
import { IpPacket, IpProtocol, packetPseudoSum } from '../../../src/wire/ip-packet.ts';
import { readIpPacket } from '../../../src/wire/ip.ts';
import { readUdpDatagram, UdpDatagram, writeUdpHeader } from '../../../src/wire/udp.ts';
import {
  CLIENT4,
  CLIENT6,
  parsed,
  pattern,
  SERVER4,
  SERVER6,
  udpPacket,
} from '../../../../../test/support/data/ip-packets.ts';
import { offloadTraits, plainTraits } from '../../../../../test/support/netstack/device-pair.ts';

/** Used memory of a device, which hands out another place for each packet. */
class Device implements PacketOutput {
  readonly buffer = new Uint8Array(70_000).fill(0xa5);
  /** Each packet, and what was said of it. */
  readonly packets: (readonly [bytes: Uint8Array, ...rest: number[]])[] = [];
  room = Infinity;
  /** The first place is 0. */
  #at = 989;

  reserve(bytes: number): number {
    if (this.packets.length >= this.room) return -1;
    this.#at = (this.#at + 11) % 1000;
    this.buffer.fill(0xa5, this.#at, this.#at + bytes);
    return this.#at;
  }

  commit(length: number, ...rest: readonly number[]): void {
    this.packets.push([this.buffer.slice(this.#at, this.#at + length), ...rest]);
  }
}

const FIRST_ID = 0xffff_fffe;

function outputTo(device: Device, traits: DeviceTraits = plainTraits()): IpOutput {
  return new IpOutput(device, traits, FIRST_ID);
}

interface Sending {
  readonly mtu?: number;
  readonly dontFragment?: boolean;
  readonly segmentSize?: number;
}

/** Sends a datagram. @returns whether there was room. */
function send(
  output: IpOutput,
  local: IpEndpoint,
  remote: IpEndpoint,
  payload: Uint8Array,
  { mtu = Infinity, dontFragment = false, segmentSize = 0 }: Sending = {},
): boolean {
  const at = output.begin(remote, 8 + payload.length, mtu);
  if (at < 0) return false;
  writeUdpHeader(output.buffer, at, local.port, remote.port, payload.length);
  output.buffer.set(payload, at + 8);
  output.end(local, remote, IpProtocol.UDP, 6, segmentSize, dontFragment);
  return true;
}

const ENDS = [
  [CLIENT4, SERVER4, 20],
  [CLIENT6, SERVER6, 40],
] as const;

test('the sizes of a packet are those of the version of its address', () => {
  assert.deepEqual([ipHeaderSize(SERVER4), ipHeaderSize(SERVER6)], [20, 40]);
  assert.deepEqual([largestTransport(SERVER4), largestTransport(SERVER6)], [65_515, 65_535]);
});

describe('a packet', () => {
  test('is written where the device has room, whole and with its checksums', () => {
    for (const [local, remote] of ENDS) {
      const device = new Device();
      const output = outputTo(device);
      assert.equal(send(output, local, remote, pattern(100)), true);
      const expected = udpPacket(pattern(100), {
        source: local,
        destination: remote,
        identification: 0xffff,
      });
      assert.deepEqual(device.packets, [[expected, 0, -1, 0]]);
      assert.deepEqual([output.packets, output.bytes], [1, expected.length]);
    }
  });

  test('has the next identification, and DF as it is told', () => {
    const device = new Device();
    const output = outputTo(device);
    for (const dontFragment of [true, false, true]) {
      send(output, CLIENT4, SERVER4, pattern(1), { dontFragment });
    }
    const found = device.packets.map(([bytes]) => parsed(bytes));
    assert.deepEqual(
      found.map(({ identification, dontFragment }) => [identification, dontFragment]),
      [
        [0xffff, true],
        [0, false],
        [1, true],
      ],
    );
  });

  test('has a sum for the device to complete where that does so', () => {
    for (const [local, remote, header] of ENDS) {
      const device = new Device();
      const output = outputTo(device, offloadTraits());
      send(output, local, remote, pattern(100), { segmentSize: 50 });
      const [sent] = device.packets;
      assert.ok(sent);
      const [bytes, ...rest] = sent;
      assert.deepEqual(rest, [50, header, 6]);
      assert.equal(bytes.length, header + 108);
      const sum = packetPseudoSum(parsed(bytes), 108);
      assert.equal(new DataView(bytes.buffer).getUint16(header + 6), sum);
      assert.deepEqual([output.packets, output.bytes], [1, header + 108]);
    }
  });

  test('is not written when there is no room', () => {
    const device = new Device();
    device.room = 1;
    const output = outputTo(device);
    assert.equal(output.isFull, false);
    assert.equal(send(output, CLIENT4, SERVER4, pattern(9)), true);
    assert.equal(output.isFull, false);
    assert.equal(output.begin(SERVER4, 9, Infinity), -1);
    assert.equal(output.isFull, true);
    assert.equal(output.reserve(20, Infinity), -1);
    assert.equal(output.packets, 1);
    device.room = 2;
    assert.equal(send(output, CLIENT4, SERVER4, pattern(9)), true);
    assert.equal(output.isFull, false);
  });
});

describe('a packet beyond its MTU', () => {
  /** What the fragments are put together to. */
  function received(device: Device, mtu: number): Uint8Array {
    const reassembly = new FragmentReassembly();
    const outcomes = device.packets.map(([bytes, ...rest]) => {
      assert.ok(bytes.length <= mtu);
      assert.deepEqual(rest, [0, -1, 0]);
      return reassembly.receive(parsed(bytes), 0);
    });
    assert.equal(outcomes.at(-1), 'complete');
    const datagram = new UdpDatagram();
    const packet = parsed(reassembly.packet, 0, reassembly.packetSize);
    // Fragments cross a wire: their checksum is complete whatever the device completes.
    assert.equal(readUdpDatagram(packet, false, datagram), undefined);
    return datagram.bytes.slice(datagram.payload, datagram.payloadEnd);
  }

  test('is sent in fragments, with a checksum that is complete', () => {
    for (const traits of [plainTraits(), offloadTraits()]) {
      for (const [local, remote, header] of ENDS) {
        const device = new Device();
        const output = outputTo(device, traits);
        assert.equal(send(output, local, remote, pattern(5000), { mtu: 1400 }), true);
        assert.equal(device.packets.length, 4);
        assert.deepEqual(received(device, 1400), pattern(5000));
        assert.deepEqual([output.packets, output.bytes], [1, header + 5008]);
        // The next one is whole again.
        send(output, local, remote, pattern(9));
        assert.equal(device.packets.length, 5);
        assert.equal(output.packets, 2);
      }
    }
  });

  test('begins at the first byte beyond it', () => {
    for (const [local, remote, header] of ENDS) {
      const device = new Device();
      const output = outputTo(device);
      send(output, local, remote, pattern(1392 - header), { mtu: 1400 });
      assert.equal(device.packets.length, 1);
      send(output, local, remote, pattern(1393 - header), { mtu: 1400 });
      assert.equal(device.packets.length, 3);
    }
  });

  test('has an identification of its own', () => {
    const device = new Device();
    const output = outputTo(device);
    for (let count = 0; count < 2; count++) {
      send(output, CLIENT6, SERVER6, pattern(1500), { mtu: 1400 });
    }
    assert.deepEqual(
      device.packets.map(([bytes]) => parsed(bytes).identification),
      [0xffff_ffff, 0xffff_ffff, 0, 0],
    );
  });

  test('is lost, and not counted, when the device has no room for all of it', () => {
    const device = new Device();
    device.room = 2;
    const output = outputTo(device);
    send(output, CLIENT4, SERVER4, pattern(5000), { mtu: 1400 });
    assert.equal(device.packets.length, 2);
    assert.deepEqual([output.packets, output.bytes], [0, 0]);
  });

  test('is lost, and not counted, when it is invalid or no fragment fits', () => {
    const device = new Device();
    const output = outputTo(device);
    const at = output.reserve(100, 60);
    assert.equal(at, 0);
    output.buffer.fill(0, 0, 100);
    output.commit(100);
    send(output, CLIENT4, SERVER4, pattern(100), { mtu: 24 });
    assert.deepEqual(device.packets, []);
    assert.deepEqual([output.packets, output.bytes], [0, 0]);
  });
});

test('a packet that the caller has written is sent as it is', () => {
  const device = new Device();
  const output = outputTo(device, offloadTraits());
  const bytes = udpPacket(pattern(40));
  const at = output.reserve(bytes.length, Infinity);
  output.buffer.set(bytes, at);
  output.commit(bytes.length);
  assert.deepEqual(device.packets, [[bytes, 0, -1, 0]]);
  assert.equal(readIpPacket(bytes, 0, bytes.length, new IpPacket()), undefined);
  assert.deepEqual([output.packets, output.bytes], [1, bytes.length]);
});
