import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Http2Stream } from '../../../src/http2/stream.ts';
import { Http2Driver, type DriverHandler } from '../../../src/http2/http2-driver.ts';
import { Http2ErrorCode } from '../../../src/http2/errors.ts';
import type { HttpField } from '../../../src/fields/field.ts';
import { FrameType } from '../../../src/http2/frames.ts';
import { ProtocolError } from '@weir/io';
import { FLOWS_ENDED_A_TURN } from '../../../../io/src/net/links/relay.ts';
import { linkPair } from '@weir/io/links';
import { TurnShare } from '@weir/io/time';
import { REQUEST, StreamLog } from '../../../../../test/support/http2/core.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';
import {
  CLIENT_START,
  frame,
  parseFrames,
  plainBlock,
  requestFrame,
  SETTINGS_ACK,
  settingsFrame,
  uint32,
} from '../../../../../test/support/http2/raw-frames.ts';
import { readAll } from '../../../../../test/support/read-link.ts';

const OK: readonly HttpField[] = [{ name: ':status', value: '200' }];

/** A driven side of a connection, and the other end of its link. */
function driven(
  role: 'client' | 'server',
  handler: Partial<DriverHandler> = {},
  unproven?: TurnShare,
) {
  const [link, peer] = linkPair();
  const clock = new ManualClock();
  const ended = Promise.withResolvers<Error | undefined>();
  const driver = new Http2Driver(
    link,
    clock,
    { role, settings: {}, connectionWindow: 1 << 20, unproven },
    { onEnd: ended.resolve, ...handler },
  );
  driver.start();
  return { driver, peer, clock, link, ended: ended.promise };
}

test('what a turn has to send leaves with one write', async () => {
  const { driver, peer } = driven('client');
  await peer.read();
  await peer.write(settingsFrame());
  await peer.read();
  const logs = [1, 2, 3].map(() => {
    const stream = driver.connection.request(REQUEST);
    assert.ok(stream);
    return new StreamLog(stream);
  });
  await Promise.resolve();
  for (const log of logs) log.write('hello');
  const chunk = (await peer.read()) ?? assert.fail('the end');
  assert.deepEqual(
    parseFrames(chunk).map(({ type }) => type),
    [...logs.map(() => FrameType.HEADERS), ...logs.map(() => FrameType.DATA)],
  );
  driver.destroy();
});

test('connections of clients that were never served share turns, and others do not wait for them', async () => {
  const turns: (() => void)[] = [];
  const unproven = new TurnShare(2, (task) => void turns.push(task));
  const requests: string[] = [];
  const streams: Http2Stream[] = [];
  const onRequest = (name: string) => (stream: Http2Stream) => {
    requests.push(name);
    streams.push(stream);
  };
  const connect = (name: string) => driven('server', { onRequest: onRequest(name) }, unproven);
  const served = connect('served');
  await served.peer.write(Buffer.concat([CLIENT_START, requestFrame(1)]));
  await turn();
  streams[0]?.serve();
  for (const task of turns.splice(0)) task();
  const all = ['a', 'b', 'c', 'd', 'e'].map(connect);
  for (const { peer } of all) void peer.write(Buffer.concat([CLIENT_START, requestFrame(1)]));
  await turn();
  assert.deepEqual(requests, ['served', 'a', 'b']);
  await served.peer.write(requestFrame(3));
  await turn();
  assert.deepEqual(requests.splice(0), ['served', 'a', 'b', 'served']);
  for (let round = 0; round < 3; round++) {
    for (const task of turns.splice(0)) task();
    await turn();
  }
  assert.deepEqual(requests, ['c', 'd', 'e']);
  for (const { driver } of [served, ...all]) driver.destroy();
});

test('a peer that breaks a rule gets a GOAWAY with the code and the reason, then the end', async () => {
  const { peer, ended } = driven('server');
  await peer.write(Buffer.concat([CLIENT_START, frame(FrameType.DATA, 0, 0)]));
  const goAway = parseFrames(await readAll(peer)).at(-1);
  assert.equal(goAway?.type, FrameType.GOAWAY);
  assert.equal(goAway.payload.readUInt32BE(4), Http2ErrorCode.PROTOCOL_ERROR);
  assert.equal(String(goAway.payload.subarray(8)), 'DATA on a wrong stream');
  const error = await ended;
  assert.ok(error instanceof ProtocolError);
  assert.match(error.message, /DATA on a wrong stream \(PROTOCOL_ERROR\)/);
});

test('a connection that is lost behind a GOAWAY names what the peer said', async () => {
  const { peer, ended } = driven('client');
  await peer.write(
    Buffer.concat([
      settingsFrame(),
      frame(
        FrameType.GOAWAY,
        0,
        0,
        Buffer.concat([uint32(0), uint32(11), Buffer.from('too_many_pings')]),
      ),
    ]),
  );
  await peer.closeWrite();
  assert.match(String(await ended), /ENHANCE_YOUR_CALM: too_many_pings/);
});

test('the end of the link ends the streams, with no error of the connection', async () => {
  const { driver, peer, ended } = driven('client');
  await peer.write(settingsFrame());
  await peer.read();
  const stream = driver.connection.request(REQUEST);
  assert.ok(stream);
  const log = new StreamLog(stream);
  await peer.closeWrite();
  assert.equal(await ended, undefined);
  assert.equal(log.end?.by, 'connection');
  assert.ok(driver.isClosed);
});

test('responses that precede a reset are read although a write has failed', async () => {
  const { driver, peer, link, ended } = driven('client');
  await peer.write(settingsFrame());
  await peer.read();
  const logs = [1, 3].map(() => {
    const stream = driver.connection.request(REQUEST);
    assert.ok(stream);
    return new StreamLog(stream);
  });
  await peer.read();
  link.write = () => Promise.reject(new Error('EPIPE'));
  logs[0]?.write('more');
  await turn();
  const response = plainBlock([[':status', '200']]);
  await peer.write(frame(FrameType.HEADERS, 0x5, 1, response));
  await peer.closeWrite();
  await ended;
  assert.equal(logs[0]?.status, 200);
  assert.equal(logs[1]?.end?.by, 'connection');
});

test('a connection whose write has failed takes no requests, and ends within seconds if nothing is read', async () => {
  let goAways = 0;
  const onGoAway = (): void => void goAways++;
  const { driver, peer, link, ended, clock } = driven('client', { onGoAway });
  await peer.write(settingsFrame());
  await peer.read();
  const stream = driver.connection.request(REQUEST);
  assert.ok(stream);
  const log = new StreamLog(stream);
  await peer.read();
  link.write = () => Promise.reject(new Error('EPIPE'));
  log.write('more');
  await turn();
  assert.equal(goAways, 1);
  clock.advance(5000);
  assert.match(String(await ended), /EPIPE/);
  assert.equal(log.end?.by, 'connection');
});

for (const isAcknowledged of [true, false]) {
  const until = isAcknowledged ? 'a PING is acknowledged' : 'the time limit';
  test(`a closed connection takes what was on its way until ${until}, and ends with its last stream`, async () => {
    const requests: StreamLog[] = [];
    const accepted = new Map([1, 3].map((id) => [id, Promise.withResolvers<void>()]));
    const { driver, peer, clock, ended } = driven('server', {
      onRequest: (stream) => {
        requests.push(new StreamLog(stream));
        accepted.get(stream.id)?.resolve();
      },
    });
    await peer.write(Buffer.concat([CLIENT_START, SETTINGS_ACK, requestFrame(1)]));
    await accepted.get(1)?.promise;
    driver.close();
    driver.close();
    const announced = parseFrames(Buffer.from((await peer.read()) ?? []));
    await peer.write(requestFrame(3));
    await accepted.get(3)?.promise;
    const ping = announced.find(({ type }) => type === FrameType.PING);
    assert.ok(ping);
    if (isAcknowledged) await peer.write(frame(FrameType.PING, 1, 0, ping.payload));
    else clock.advance(5000);
    await peer.write(requestFrame(5));
    for (const log of requests) {
      log.stream.respond(OK, false);
      log.write('last');
      log.stream.end();
    }
    await peer.write(Buffer.concat([frame(FrameType.DATA, 1, 1), frame(FrameType.DATA, 1, 3)]));
    assert.equal(await ended, undefined);
    assert.deepEqual(
      requests.map(({ stream }) => stream.id),
      [1, 3],
    );
    const frames = [...announced, ...parseFrames(await readAll(peer))];
    const ids = frames
      .filter(({ type }) => type === FrameType.GOAWAY)
      .map(({ payload }) => payload.readUInt32BE(0));
    assert.deepEqual(ids, [2 ** 31 - 1, 3]);
    const data = frames.filter(({ type }) => type === FrameType.DATA);
    assert.equal(Buffer.concat(data.map(({ payload }) => payload)).toString(), 'lastlast');
  });
}

test('a peer that does not read holds back DATA, and its connection ends at the limit', async () => {
  const requests: StreamLog[] = [];
  const accepted = Promise.withResolvers<void>();
  const { driver, peer, clock, link } = driven('server', {
    onRequest: (stream) => {
      requests.push(new StreamLog(stream));
      accepted.resolve();
    },
  });
  const window = frame(FrameType.WINDOW_UPDATE, 0, 0, uint32(1 << 28));
  await peer.write(
    Buffer.concat([
      CLIENT_START,
      settingsFrame([4, 1 << 28]),
      SETTINGS_ACK,
      window,
      requestFrame(1),
    ]),
  );
  await accepted.promise;
  const [log] = requests;
  assert.ok(log);
  let sent = 0;
  while (log.write(Buffer.alloc(16 << 10)) === true) sent += 16 << 10;
  assert.ok(sent < 1 << 20, `${sent} bytes were taken`);
  assert.ok(log.stream.queued > 0);
  driver.destroy();
  await new Promise(setImmediate);
  clock.advance(5_000);
  await link.closed;
});

test('the streams of a connection that is lost fail in turns, and it ends after them', async () => {
  const COUNT = 4 * FLOWS_ENDED_A_TURN;
  const logs: StreamLog[] = [];
  const { peer, driver, ended } = driven('server', {
    onRequest: (stream) => {
      stream.serve();
      logs.push(new StreamLog(stream));
    },
  });
  const ids = Array.from({ length: COUNT }, (_, i) => 2 * i + 1);
  await peer.write(Buffer.concat([CLIENT_START, ...ids.map((id) => requestFrame(id))]));
  while (logs.length < COUNT) await turn();
  peer.destroy();
  let turns = 0;
  const aborted = (): number => logs.filter(({ end }) => end !== undefined).length;
  for (; aborted() < COUNT; turns++) await turn();
  assert.ok(turns >= COUNT / FLOWS_ENDED_A_TURN - 2, `${turns} turns`);
  await ended;
  assert.equal(driver.connection.streamCount, 0);
});

test('requests that a GOAWAY leaves unprocessed are refused in turns, also when the connection ends after it', async () => {
  const COUNT = 4 * FLOWS_ENDED_A_TURN;
  const { peer, driver, ended } = driven('client');
  await peer.write(settingsFrame());
  while (!driver.connection.hasPeerSettings) await turn();
  const logs = Array.from({ length: COUNT }, () => {
    const stream = driver.connection.request(REQUEST);
    return new StreamLog(stream ?? assert.fail('no request can be made'));
  });
  await peer.write(frame(FrameType.GOAWAY, 0, 0, Buffer.concat([uint32(1), uint32(0)])));
  peer.destroy();
  let turns = 0;
  const over = (): number => logs.filter(({ end }) => end !== undefined).length;
  for (; over() < COUNT; turns++) await turn();
  assert.ok(turns >= COUNT / FLOWS_ENDED_A_TURN - 2, `${turns} turns`);
  const codes = logs.map(({ end }) => end?.code);
  assert.equal(codes.filter((code) => code === Http2ErrorCode.REFUSED_STREAM).length, COUNT - 1);
  await ended;
});
