import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempDisposable, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { PacketCapture } from '../../../src/app/packet-capture.ts';
import { silentLogger } from '@weir/base/log';
import { SNAP_LENGTH } from '@weir/base/ip/pcapng';
import { TappedDevice } from '@weir/base/ip/packet-device';
import { logLines } from '../../../../../test/support/engine/log-lines.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';
import { devicePair } from '../../../../../test/support/netstack/device-pair.ts';

const folder = (): ReturnType<typeof mkdtempDisposable> =>
  mkdtempDisposable(join(tmpdir(), 'weir-capture-'));

interface ReadPacket {
  readonly name: string;
  readonly time: number;
  readonly direction: number;
  readonly length: number;
  readonly bytes: Buffer;
  /** Packets that were lost before it. */
  readonly lost: number;
}

/** The packets of a pcapng file, read by draft-ietf-opsawg-pcapng; throws for what is malformed. */
function packetsOf(file: Buffer): ReadPacket[] {
  const names: string[] = [];
  const packets: ReadPacket[] = [];
  for (let at = 0; at < file.length;) {
    const [type, length] = [file.readUInt32BE(at), file.readUInt32BE(at + 4)];
    assert.equal(length % 4, 0);
    assert.equal(file.readUInt32BE(at + length - 4), length, 'the length behind the block');
    const body = file.subarray(at + 8, at + length - 4);
    if (type === 0x0a0d_0d0a) {
      assert.equal(at, 0, 'one section, at the beginning');
      assert.equal(body.readUInt32BE(0), 0x1a2b_3c4d);
      assert.deepEqual([body.readUInt16BE(4), body.readUInt16BE(6)], [1, 0]);
    } else if (type === 1) {
      assert.equal(body.readUInt16BE(0), 108);
      names.push(optionsOf(body.subarray(8)).get(2)?.toString() ?? '');
    } else {
      assert.equal(type, 6);
      const kept = body.readUInt32BE(12);
      const options = optionsOf(body.subarray(20 + ((kept + 3) & ~3)));
      packets.push({
        name: names[body.readUInt32BE(0)] ?? assert.fail('an unknown interface'),
        time: (body.readUInt32BE(4) * 2 ** 32 + body.readUInt32BE(8)) / 1000,
        direction: (options.get(2)?.readUInt32BE() ?? 0) & 3,
        length: body.readUInt32BE(16) - 4,
        bytes: body.subarray(24, 20 + kept),
        lost: Number(options.get(4)?.readBigUInt64BE() ?? 0),
      });
    }
    at += length;
  }
  return packets;
}

function optionsOf(bytes: Buffer): Map<number, Buffer> {
  const options = new Map<number, Buffer>();
  for (let at = 0; ;) {
    const [code, length] = [bytes.readUInt16BE(at), bytes.readUInt16BE(at + 2)];
    if (code === 0) return options;
    options.set(code, bytes.subarray(at + 4, at + 4 + length));
    at += 4 + ((length + 3) & ~3);
  }
}

/** An IPv4 header with these bytes behind it. */
function packetOf(payload: Uint8Array): Buffer {
  const header = Buffer.from('4500000000004000401100007f0000017f000001', 'hex');
  header.writeUInt16BE(Math.min(65_535, 20 + payload.length), 2);
  return Buffer.concat([header, payload]);
}

test('a capture has each packet with its device, direction, time and length', async () => {
  await using dir = await folder();
  const path = join(dir.path, 'a.pcapng');

  const clock = new ManualClock(5, 1_790_000_000_000);
  const capture = await PacketCapture.open(path, { clock, log: silentLogger });
  const [one, two] = [capture.tap('in weir0'), capture.tap('other weir1')];
  one('in', packetOf(Buffer.from('abc')));
  clock.advance(1.25);
  two('out', packetOf(Buffer.alloc(SNAP_LENGTH)));
  one('out', packetOf(Buffer.alloc(0)));
  await capture.close();
  const found = packetsOf(await readFile(path));
  assert.deepEqual(
    found.map(({ name, time, direction, length }) => [name, time, direction, length]),
    [
      ['in weir0', 1_790_000_000_000, 1, 23],
      ['other weir1', 1_790_000_000_001.25, 2, 20 + SNAP_LENGTH],
      ['in weir0', 1_790_000_000_001.25, 2, 20],
    ],
  );
  assert.deepEqual(found[0]?.bytes, packetOf(Buffer.from('abc')));
  assert.equal(found[1]?.bytes.length, SNAP_LENGTH);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
});

const tcpdump = spawnSync('tcpdump', ['--version']).error === undefined;

test(
  'tcpdump reads a capture',
  { skip: tcpdump ? false : 'tcpdump is not installed' },
  async () => {
    await using dir = await folder();
    const path = join(dir.path, 'a.pcapng');
    const capture = await PacketCapture.open(path, { clock: new ManualClock(), log: silentLogger });
    const dns = Buffer.from('003500350008000000', 'hex');
    capture.tap('tun weir0')('in', packetOf(dns.subarray(0, 8)));
    capture.tap('tun weir1')('out', packetOf(dns.subarray(0, 8)));
    const echo = `6000000000083a40${'00'.repeat(15)}01${'00'.repeat(15)}018000000000010001`;
    capture.tap('tun weir1')('out', Buffer.from(echo, 'hex'));
    await capture.close();
    const { stdout, stderr, status } = spawnSync('tcpdump', ['-n', '-r', path], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
    assert.equal(stdout.match(/ IP 127\.0\.0\.1\.53 > 127\.0\.0\.1\.53/g)?.length, 2, stdout);
    assert.match(stdout, / IP6 ::1 > ::1: ICMP6, echo request/);
  },
);

test('packets are in the file a moment later, while the capture goes on', async () => {
  await using dir = await folder();
  const path = join(dir.path, 'a.pcapng');
  const clock = new ManualClock();
  const capture = await PacketCapture.open(path, { clock, log: silentLogger });
  capture.tap('tun')('in', packetOf(Buffer.from('early')));
  clock.advance(250);
  while ((await stat(path)).size === 0);
  assert.equal(packetsOf(await readFile(path)).length, 1);
  assert.equal(clock.timers, 0);
  await capture.close();
});

test('a full file is kept once, and the last packets are always there', async () => {
  await using dir = await folder();
  const path = join(dir.path, 'a.pcapng');
  const fileBytes = 20_000;
  const capture = await PacketCapture.open(path, {
    clock: new ManualClock(),
    fileBytes,
    log: silentLogger,
  });
  const tap = capture.tap('tun weir0');
  for (let number = 0; number < 100; number++) {
    const payload = Buffer.alloc(1_000);
    payload.writeUInt32BE(number);
    tap('in', packetOf(payload));
  }
  await capture.close();
  const numbers: number[] = [];
  for (const name of [`${path}.1`, path]) {
    const bytes = await readFile(name);
    assert.ok(bytes.length <= fileBytes, `${bytes.length} bytes`);
    numbers.push(...packetsOf(bytes).map((packet) => packet.bytes.readUInt32BE(20)));
  }
  const first = numbers[0] ?? 0;
  assert.ok(first > 0 && numbers.length > 20);
  assert.deepEqual(
    numbers,
    Array.from({ length: 100 - first }, (_, index) => first + index),
  );
});

test('packets that come faster than the disk takes them are counted', async () => {
  await using dir = await folder();
  const path = join(dir.path, 'a.pcapng');
  const { log, lines } = logLines('info');
  const capture = await PacketCapture.open(path, { clock: new ManualClock(), log });
  const tap = capture.tap('tun');
  const packet = packetOf(Buffer.alloc(SNAP_LENGTH));
  const sent = 10_000;
  for (let count = 0; count < sent; count++) tap('out', packet);
  // The disk has taken nothing in this turn of the event loop; later there is room again.
  while ((await stat(path)).size === 0);
  const before = (await stat(path)).size;
  tap('out', packet);
  await capture.close();
  const found = packetsOf(await readFile(path));
  const lost = sent + 1 - found.length;
  assert.ok(lost > 0 && before > 0);
  assert.ok(found.length * SNAP_LENGTH < 10 << 20, 'what waits is bounded');
  assert.ok(found.every((each, index) => each.lost === 0 || index === found.length - 1));
  assert.match(
    lines.at(-1) ?? '',
    new RegExp(`${found.length} packets in .*, ${lost} more were lost`),
  );
});

test('a path that cannot be written to is an error that names it', async () => {
  await using dir = await folder();
  const options = { clock: new ManualClock(), log: silentLogger };
  await assert.rejects(PacketCapture.open(dir.path, options), /cannot write packets to .*EISDIR/);
  const pipe = join(dir.path, 'pipe');
  spawnSync('mkfifo', [pipe]);
  await assert.rejects(PacketCapture.open(pipe, options), /cannot write packets to .*pipe/);
  const missing = join(dir.path, 'none', 'a');
  await assert.rejects(PacketCapture.open(missing, options), /cannot write packets to .*ENOENT/);
});

test('an older file is emptied first', async () => {
  await using dir = await folder();
  const path = join(dir.path, 'a.pcapng');
  await writeFile(path, Buffer.alloc(5_000));
  const capture = await PacketCapture.open(path, { clock: new ManualClock(), log: silentLogger });
  await capture.close();
  assert.deepEqual(packetsOf(await readFile(path)), []);
});

test('a tapped device passes everything on, and shows the packets of both directions', async () => {
  const [near, far] = devicePair();
  const seen: [string, string][] = [];
  const device = new TappedDevice(near, (direction, packet) =>
    seen.push([direction, Buffer.from(packet).toString('latin1')]),
  );
  assert.deepEqual([device.name, device.traits, device.dropped], [near.name, near.traits, 0]);
  const events: string[] = [];
  const drained = Promise.withResolvers<void>();
  const handlers = (name: string, onDrained: () => void) => ({
    onPacket: ({ buffer, start, end }: { buffer: Uint8Array; start: number; end: number }) =>
      events.push(`${name} ${Buffer.from(buffer.subarray(start, end)).toString('latin1')}`),
    onDrained,
    onWritable: () => events.push(`${name} writable`),
    onTraits: () => events.push(`${name} traits`),
    onPathRestored: () => events.push(`${name} restored`),
  });
  const arrived = Promise.withResolvers<void>();
  device.start(handlers('near', drained.resolve));
  far.start(handlers('far', arrived.resolve));
  const send = (from: typeof device | typeof far, text: string): void => {
    const at = from.output.reserve(text.length);
    Buffer.from(from.output.buffer.buffer, from.output.buffer.byteOffset).write(text, at, 'latin1');
    from.output.commit(text.length, 0, -1, 0);
    from.flush();
  };
  send(device, 'to the device');
  send(far, 'from the device');
  await Promise.all([drained.promise, arrived.promise]);
  assert.deepEqual(seen, [
    ['out', 'to the device'],
    ['in', 'from the device'],
  ]);
  near.change({ ...near.traits, mtu: 1400 });
  near.restore();
  assert.equal(device.traits.mtu, 1400);
  assert.deepEqual(events.toSorted(), [
    'far to the device',
    'near from the device',
    'near restored',
    'near traits',
  ]);
  device.close(new Error('over'));
  assert.equal((await device.closed)?.message, 'over');
  assert.equal(device.output.reserve(10), -1);
});
