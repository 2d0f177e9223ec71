import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IpEndpoint } from '@weir/base/ip';
import { icmpErrorSize, writeIcmpError } from '../../../src/ip/icmp-replies.ts';
import { PathMtus, type PathMtuOutcome } from '../../../src/ip/icmp-messages.ts';
import { MAX_PATH_MTUS, PATH_MTU_LIFETIME_MS } from '../../../src/limits.ts';
import { IcmpMessage, readIcmp, type IcmpQuote } from '../../../src/wire/icmp.ts';
import {
  CLIENT4,
  IPV6,
  parsed,
  pattern,
  segment,
  SERVER4,
  SERVER6,
  tcpPacket,
  type PacketParts,
} from '../../../../../test/support/data/ip-packets.ts';

/** What a router says of a packet of 1,500 bytes. */
function tooBig(mtu: number, parts: PacketParts = {}, sequence = 77, size = 1460): IcmpMessage {
  const cause = parsed(tcpPacket(segment({ flags: 0x10, sequence }), pattern(size), parts));
  const bytes = new Uint8Array(icmpErrorSize(cause));
  writeIcmpError('too big', cause, cause.destination, mtu, bytes, 0);
  const message = new IcmpMessage();
  assert.equal(readIcmp(parsed(bytes), false, message), undefined);
  return message;
}

const isUnderWay = ({ sequence, source }: IcmpQuote): boolean =>
  sequence === 77 && source.port === 40_000;

const paths = (): PathMtus => new PathMtus(1500, 1, isUnderWay);

test('a packet under way that was too big lowers the MTU of its path', () => {
  for (const [parts, destination] of [
    [{}, SERVER4],
    [IPV6, SERVER6],
  ] as const) {
    const mtus = paths();
    assert.equal(mtus.get(destination, 0), 1500);
    assert.equal(mtus.receive(tooBig(1400, parts), 0), 'lowered');
    assert.equal(mtus.quote.sequence, 77);
    assert.equal(mtus.get(destination, 0), 1400);
    assert.equal(mtus.get({ ...destination, port: 1 }, 0), 1400);
    assert.equal(mtus.get(CLIENT4, 0), 1500);
  }
});

test('a message is not believed where nothing like it is under way, or it changes nothing', () => {
  const outcome = (message: IcmpMessage): PathMtuOutcome => {
    const mtus = paths();
    const result = mtus.receive(message, 0);
    assert.equal(mtus.size, 0);
    return result;
  };
  assert.equal(outcome(tooBig(1400, {}, 78)), 'not of a packet of ours');
  assert.equal(outcome(tooBig(1500)), 'not lower');
  assert.equal(outcome(tooBig(9000)), 'not lower');
  assert.equal(outcome(tooBig(551)), 'below the minimum');
  assert.equal(outcome(tooBig(1279, IPV6)), 'below the minimum');
  const short = tooBig(1400);
  short.end = short.payload + 20;
  assert.equal(outcome(short), 'unreadable quote');
});

test('an MTU of a path only becomes smaller', () => {
  const mtus = paths();
  assert.equal(mtus.receive(tooBig(1300), 0), 'lowered');
  assert.equal(mtus.receive(tooBig(1400), 0), 'not lower');
  assert.equal(mtus.receive(tooBig(1280), 0), 'lowered');
  assert.equal(mtus.get(SERVER4, 0), 1280);
  assert.equal(mtus.size, 1);
});

test('a router that does not say its MTU is believed to have the next usual one', () => {
  const mtus = paths();
  for (const [size, expected] of [
    [1460, 1492],
    [1452, 1006],
    [966, 552],
  ] as const) {
    assert.equal(mtus.receive(tooBig(0, {}, 77, size), 0), 'lowered');
    assert.equal(mtus.get(SERVER4, 0), expected);
  }
  assert.equal(mtus.receive(tooBig(0, {}, 77, 100), 0), 'below the minimum');
});

test('what is known of a path is forgotten after ten minutes', () => {
  const mtus = paths();
  mtus.receive(tooBig(1400), 5000);
  assert.equal(mtus.get(SERVER4, 5000 + PATH_MTU_LIFETIME_MS - 1), 1400);
  assert.equal(mtus.get(SERVER4, 5000 + PATH_MTU_LIFETIME_MS), 1500);
  assert.equal(mtus.size, 0);
});

test('of too many paths the one that was lowered longest ago is forgotten', () => {
  const mtus = paths();
  const host = (index: number): IpEndpoint => ({ ...SERVER4, d: SERVER4.d + index });
  const lower = (index: number, mtu: number): void => {
    const message = tooBig(mtu, { destination: host(index) });
    assert.equal(mtus.receive(message, 0), 'lowered');
  };
  for (let index = 0; index < MAX_PATH_MTUS - 1; index++) lower(index, 1400);
  // It becomes the newest.
  lower(0, 1300);
  assert.equal(mtus.size, MAX_PATH_MTUS - 1);
  lower(MAX_PATH_MTUS - 1, 1400);
  assert.equal(mtus.get(host(1), 0), 1400);
  lower(MAX_PATH_MTUS, 1400);
  assert.equal(mtus.size, MAX_PATH_MTUS);
  assert.equal(mtus.get(host(0), 0), 1300);
  assert.equal(mtus.get(host(1), 0), 1500);
  assert.equal(mtus.get(host(2), 0), 1400);
});
