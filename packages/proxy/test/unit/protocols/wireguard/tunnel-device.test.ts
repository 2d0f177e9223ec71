import assert from 'node:assert/strict';
import { afterEach, describe, mock, test } from 'node:test';
import { X25519PrivateKey } from '@weir/crypto/x25519';
import { REKEY_TIMEOUT, MAX_JITTER } from '../../../../src/protocols/wireguard/deadlines.ts';
import { TunnelDevice } from '../../../../src/protocols/wireguard/tunnel-device.ts';
import { createStaticKeys } from '../../../../src/protocols/wireguard/handshake/noise.ts';
import type { TunnelEvent, TunnelSettings } from '../../../../src/protocols/wireguard/contract.ts';
import { timestampAfter } from '../../../../src/protocols/wireguard/wire.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { SeededRandom } from '../../../../../../test/support/simnet/seeded-random.ts';
import {
  FakeUdp,
  type FakeSocket,
} from '../../../../../../test/support/protocols/wireguard/fake-udp.ts';
import { endpoint } from '../../../../../../test/support/protocols/wireguard/tunnel-pair.ts';
import { settle } from '../../../../../../test/support/settle.ts';

interface End {
  readonly device: TunnelDevice;
  readonly socket: FakeSocket;
  readonly received: string[];
  readonly events: TunnelEvent[];
  writable: number;
  traits: number;
  restored: number;
}

/** Two devices on fake sockets, in time that a test moves by hand. */
class Devices {
  readonly clock = new ManualClock();
  readonly net = new FakeUdp();

  async open(own: number, peer: number, settings: Partial<TunnelSettings> = {}): Promise<End> {
    const key = (octet: number): Uint8Array => new Uint8Array(32).fill(octet);
    const staticKeys = createStaticKeys(key(own), new X25519PrivateKey(key(peer)).publicKey);
    assert.ok(staticKeys);
    let last: Uint8Array | undefined;
    const events: TunnelEvent[] = [];
    const device = await TunnelDevice.open({
      name: `device ${own}`,
      staticKeys,
      endpoint: endpoint('127.0.0.1', 999 + peer),
      settings: { mtu: 1420, keepalive: 0, reserved: undefined, ...settings },
      clock: this.clock,
      random: new SeededRandom(own),
      bind: this.net.bind,
      timestamp: () => (last = timestampAfter(last, this.clock.wall())),
      onEvent: (event) => events.push(event),
    });
    const socket = this.net.sockets.at(-1);
    assert.ok(socket);
    const end: End = { device, socket, received: [], events, writable: 0, traits: 0, restored: 0 };
    device.start({
      onPacket: ({ buffer, start, end: until }) => {
        end.received.push(
          Buffer.from(buffer.subarray(start, until)).toString().replace(/\0+$/, ''),
        );
      },
      onDrained: () => undefined,
      onWritable: () => void end.writable++,
      onTraits: () => void end.traits++,
      onPathRestored: () => void end.restored++,
    });
    opened.push(device);
    return end;
  }

  async pair(settings?: Partial<TunnelSettings>): Promise<[End, End]> {
    return [await this.open(1, 2, settings), await this.open(2, 1)];
  }
}

const opened: TunnelDevice[] = [];
afterEach(() => {
  for (const device of opened.splice(0)) device.close();
});

/** Writes a packet. @returns whether there was room. */
function write({ device: { output } }: End, text: string): boolean {
  const at = output.reserve(text.length);
  if (at < 0) return false;
  output.buffer.set(Buffer.from(text), at);
  output.commit(text.length, 0, -1, 0);
  return true;
}

describe('a tunnel as a device', () => {
  test('carries packets both ways, those before the handshake as well', async () => {
    const [left, right] = await new Devices().pair();
    for (const text of ['one', 'two', 'three']) write(left, text);
    left.device.flush();
    await settle(6);
    assert.deepEqual(right.received, ['one', 'two', 'three']);
    write(right, 'back');
    right.device.flush();
    await settle(6);
    assert.deepEqual(left.received, ['back']);
    assert.deepEqual(left.events, ['established']);
    assert.deepEqual(right.events, ['established']);
  });

  test('sends packets of one size with one call', async () => {
    const [left, right] = await new Devices().pair();
    write(left, 'first');
    left.device.flush();
    await settle(6);
    left.socket.sent.length = 0;
    for (let i = 0; i < 10; i++) write(left, 'x'.repeat(1420));
    left.device.flush();
    await settle(6);
    assert.deepEqual(left.socket.sent, [{ length: 14_520, segmentSize: 1452 }]);
    assert.equal(right.received.length, 11);
  });

  test('sends its initiation again by the clock', async () => {
    const devices = new Devices();
    const [left, right] = await devices.pair();
    devices.net.passes = () => false;
    write(left, 'late');
    left.device.flush();
    await settle(6);
    devices.net.passes = undefined;
    devices.clock.advance(REKEY_TIMEOUT + MAX_JITTER);
    await settle(6);
    assert.deepEqual(right.received, ['late']);
  });

  test('goes on after a turn that threw', async () => {
    const devices = new Devices();
    const [left, right] = await devices.pair();
    const send = mock.method(left.socket, 'send', () => {
      throw new Error('recv ENOBUFS');
    });
    write(left, 'late');
    assert.throws(() => left.device.flush(), /ENOBUFS/);
    send.mock.restore();
    // Nothing but the clock begins another turn.
    devices.clock.advance(REKEY_TIMEOUT + MAX_JITTER);
    await settle(6);
    assert.deepEqual(right.received, ['late']);
  });

  test('sends keep-alives by the clock, without being asked', async () => {
    const devices = new Devices();
    const [left, right] = await devices.pair({ keepalive: 5000 });
    await settle(6);
    devices.clock.advance(1);
    await settle(6);
    assert.deepEqual(right.events, ['established']);
    const before = left.socket.sent.length;
    for (let i = 0; i < 4; i++) {
      devices.clock.advance(5000);
      await settle(6);
    }
    assert.equal(left.socket.sent.length, before + 4);
  });

  test('has no room while the socket is full, and says when it has again', async () => {
    const [left] = await new Devices().pair();
    write(left, 'first');
    left.device.flush();
    await settle(6);
    left.socket.room = 0;
    let count = 0;
    while (count < 10_000 && write(left, 'x'.repeat(1000))) count++;
    assert.ok(count > 100 && count < 10_000, `${count} packets`);
    assert.equal(left.writable, 0);
    left.socket.room = Infinity;
    left.socket.handlers.onWritable?.();
    assert.equal(left.writable, 1);
    assert.ok(write(left, 'more'));
  });

  test('has an MTU within what UDP and IP can carry, which may change', async () => {
    const { device, traits } = await new Devices().open(1, 2, { mtu: 10 });
    assert.equal(device.traits.mtu, 576);
    device.settings = { mtu: 1e6, keepalive: 0, reserved: undefined };
    assert.equal(device.traits.mtu, 65_475);
    assert.equal(device.traits.largest, 65_475);
    assert.equal(traits, 0);
  });

  test('is released with its timers when it is closed, or its socket fails', async () => {
    const devices = new Devices();
    const [left, right] = await devices.pair({ keepalive: 5000 });
    write(left, 'one');
    left.device.flush();
    await settle(6);
    const cause = new Error('over');
    left.device.close(cause);
    left.device.close();
    assert.equal(await left.device.closed, cause);
    assert.equal(write(left, 'two'), false);
    const failure = new Error('the socket failed');
    right.socket.close(failure);
    assert.equal(await right.device.closed, failure);
    assert.equal(write(right, 'two'), false);
    assert.equal(devices.clock.timers, 0);
  });
});
