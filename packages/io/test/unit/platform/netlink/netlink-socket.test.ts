import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  encodeRequest,
  nestedAttribute,
  NLM_F_ACK,
  NLMSG_ERROR,
  readAcknowledgement,
  readAttributes,
  wordAttribute,
} from '../../../../src/platform/netlink/netlink-socket.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ''), 'hex');

describe('netlink messages', () => {
  test('a request has a header, its body and aligned attributes', () => {
    const bytes = encodeRequest(20, NLM_F_ACK, 7, hex('02 1e 00 00 05 00 00 00'), [
      { type: 2, value: hex('ac 13 00') },
      wordAttribute(4, 1500),
    ]);
    // By hand after netlink(7): length, type, REQUEST and ACK, sequence, port.
    assert.deepEqual(
      bytes,
      hex(`28000000 1400 0500 07000000 00000000
           021e000005000000
           0700 0200 ac130000
           0800 0400 dc050000`),
    );
  });

  test('attributes nest', () => {
    const { type, value } = nestedAttribute(26, [wordAttribute(10, 1)]);
    assert.equal(type, 0x8000 | 26);
    assert.deepEqual(Buffer.from(value), hex('0800 0a00 01000000'));
    const body = encodeRequest(16, 0, 1, hex('00000000'), [{ type, value }]).subarray(16);
    assert.deepEqual([...readAttributes(body, 4).keys()], [26]);
  });

  test('an error has its number, and the words of the kernel where it sends some', () => {
    const message = (flags: number, body: Buffer) => ({
      type: NLMSG_ERROR,
      flags,
      sequence: 1,
      body,
    });
    const header = hex('24000000 1800 0500 01000000 00000000');
    const refused = Buffer.concat([hex('efffffff'), header]);
    assert.deepEqual(readAcknowledgement(message(0, refused)), { errno: 17, text: undefined });
    const text = Buffer.concat([refused, hex('0a00 0100'), Buffer.from('exist\0'), hex('0000')]);
    assert.deepEqual(readAcknowledgement(message(0x300, text)), { errno: 17, text: 'exist' });
    const endless = Buffer.concat([hex('efffffff'), hex('00f0ffff'), header.subarray(4)]);
    assert.deepEqual(readAcknowledgement(message(0x200, endless)), {
      errno: 17,
      text: undefined,
    });
    assert.deepEqual(readAcknowledgement(message(0, hex('00000000'))), {
      errno: 0,
      text: undefined,
    });
  });
});
