import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { encodeAddressField, SOCKS_ADDRESS } from '@weir/io/addresses';
import { ProtocolError } from '@weir/io';
import {
  checkStamp,
  stampOf,
  decodeRequestVariable,
  encodeRequestVariable,
  HeaderType,
  writeStamp,
} from '../../../../../src/protocols/shadowsocks/edition-2022/wire.ts';

const WALL = Date.UTC(2026, 0, 1);
const SITE = { host: 'a.example', port: 443 };

function address(): Buffer {
  const field = encodeAddressField(SITE, SOCKS_ADDRESS);
  assert.ok(field);
  return field;
}

const rejected = (header: Buffer, message: RegExp): void =>
  assert.throws(
    () => decodeRequestVariable(header),
    (error: unknown) => error instanceof ProtocolError && message.test(error.message),
  );

describe('the variable header of a request (SIP022 §3.1.3)', () => {
  test('has an address, padding and the first payload', () => {
    const header = encodeRequestVariable(address(), Buffer.alloc(3), Buffer.from('hello'));
    const { destination, payload } = decodeRequestVariable(header);
    assert.deepEqual(destination, SITE);
    assert.equal(String(payload), 'hello');
    assert.equal(decodeRequestVariable(header.subarray(0, -5)).payload.length, 0);
  });

  test('is rejected where it ends before its address, its padding length or its padding does', () => {
    const header = encodeRequestVariable(address(), Buffer.alloc(3), Buffer.alloc(0));
    rejected(header.subarray(0, address().length - 1), /the address is truncated/);
    rejected(header.subarray(0, address().length), /the padding length is missing/);
    rejected(header.subarray(0, address().length + 1), /the padding length is missing/);
    rejected(header.subarray(0, -1), /the padding exceeds the header/);
  });

  test('is rejected for a host name that is none', () => {
    const header = encodeRequestVariable(address(), Buffer.alloc(3), Buffer.alloc(0));
    header[2] = 0x20;
    rejected(header, /an invalid host name/);
  });

  test('is rejected with neither padding nor payload', () => {
    rejected(encodeRequestVariable(address(), Buffer.alloc(0), Buffer.alloc(0)), /neither/);
  });
});

test('a header is rejected for its direction, and for a time more than 30 seconds away', () => {
  const header = Buffer.alloc(9);
  const check = (type: number, offset: number): void => {
    writeStamp(header, HeaderType.client, WALL + offset);
    checkStamp(header, type, WALL);
  };
  for (const offset of [-30_000, 0, 30_000]) check(HeaderType.client, offset);
  for (const offset of [-31_000, 31_000]) {
    assert.throws(() => check(HeaderType.client, offset), ProtocolError);
  }
  assert.throws(() => check(HeaderType.server, 0), ProtocolError);
});

test('a time after 2106 has more than 32 bits', () => {
  const header = Buffer.alloc(9);
  const wall = Date.UTC(2120, 0, 1);
  writeStamp(header, HeaderType.client, wall);
  assert.equal(stampOf(header, 0), wall / 1000);
  assert.equal(checkStamp(header, HeaderType.client, wall), wall / 1000);
});
