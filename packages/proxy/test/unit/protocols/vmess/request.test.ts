import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { BoundedReader, linkPair } from '@weir/io/links';
import { ProtocolError } from '@weir/io';
import {
  openHeader,
  openLength,
  requestBox,
  sealHeader,
  sealLength,
  userKey,
} from '../../../../src/protocols/vmess/header/header-seal.ts';
import {
  MAX_REQUEST,
  readRequest,
  receiveRequest,
  RequestSealer,
} from '../../../../src/protocols/vmess/header/request.ts';
import {
  decodeRequest,
  encodeRequest,
  fnv1a,
  MAX_HEADER,
  type RequestHeader,
} from '../../../../src/protocols/vmess/wire.ts';
import { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { KnownRandom } from '../../../../../../test/support/known-random.ts';
import { ID } from '../../../../../../test/support/protocols/vmess/harness.ts';

const KEY = userKey(ID);
const HEADER: RequestHeader = {
  iv: Buffer.alloc(16, 1),
  key: Buffer.alloc(16, 2),
  answer: 3,
  options: 0x0d,
  security: 3,
  request: { command: 1, destination: { host: 'example.com', port: 443 } },
};
const OPTIONS_AT = 34;
const SECURITY_AT = 35;
const COMMAND_AT = 37;

const encoded = (header: RequestHeader = HEADER, padding = Buffer.alloc(0)): Buffer => {
  const bytes = encodeRequest(header, padding);
  assert.ok(bytes);
  return bytes;
};

/** The header with bytes changed and its sum put right. */
function changed(change: (bytes: Buffer) => Buffer | void): Buffer {
  const plain = encoded().subarray(0, -4);
  const bytes = change(plain) ?? plain;
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(fnv1a(bytes));
  return Buffer.concat([bytes, sum]);
}

const refused = (bytes: Buffer, message: RegExp): void =>
  assert.throws(
    () => decodeRequest(bytes),
    (error: unknown) => error instanceof ProtocolError && message.test(error.message),
  );

describe('the header of a request', () => {
  test('is read as it was written', () => {
    for (const host of ['example.com', '192.0.2.1', '2001:db8::1', 'a'.repeat(255)]) {
      for (const command of [1, 2] as const) {
        const header = { ...HEADER, request: { command, destination: { host, port: 65_535 } } };
        for (const padding of [0, 7, 15]) {
          const bytes = encoded(header, Buffer.alloc(padding, 9));
          assert.ok(bytes.length <= MAX_HEADER);
          assert.deepEqual(decodeRequest(bytes), header);
        }
      }
    }
    const mux = { ...HEADER, request: { command: 3 } } as const;
    assert.deepEqual(decodeRequest(encoded(mux)), mux);
  });

  test('has no room for every destination', () => {
    for (const destination of [
      { host: '', port: 1 },
      { host: 'a'.repeat(256), port: 1 },
      { host: 'a', port: 65_536 },
    ]) {
      const header: RequestHeader = { ...HEADER, request: { command: 1, destination } };
      assert.equal(encodeRequest(header, Buffer.alloc(0)), undefined);
    }
  });

  test('is refused in a version, security or command that is not supported', () => {
    refused(
      changed((bytes) => void bytes.writeUInt8(2)),
      /version 2/,
    );
    for (const security of [0, 1, 2, 5, 6, 15]) {
      refused(
        changed((bytes) => void bytes.writeUInt8(security, SECURITY_AT)),
        security === 5
          ? /security none \(or zero\) is not supported/
          : new RegExp(`security ${security} `),
      );
    }
    for (const command of [0, 4, 255]) {
      refused(
        changed((bytes) => void bytes.writeUInt8(command, COMMAND_AT)),
        /command/,
      );
    }
  });

  test('is refused with padding of chunks without masking', () => {
    refused(
      changed((bytes) => void bytes.writeUInt8(0x09, OPTIONS_AT)),
      /padding without masking/,
    );
  });

  test('is refused with a wrong sum, whole or cut', () => {
    const bytes = encoded();
    for (let end = 0; end < bytes.length; end++) {
      assert.throws(() => decodeRequest(bytes.subarray(0, end)), ProtocolError);
    }
    bytes.writeUInt8((bytes.at(-1) ?? 0) ^ 1, bytes.length - 1);
    refused(bytes, /checksum/);
  });

  test('is refused when its fields do not add up to its length', () => {
    refused(
      changed((bytes) => Buffer.concat([bytes, Buffer.of(0)])),
      /does not match its fields/,
    );
    refused(
      changed((bytes) => void bytes.writeUInt8(0x13, SECURITY_AT)),
      /does not match its fields/,
    );
    refused(
      changed((bytes) => bytes.subarray(0, -1)),
      /destination/,
    );
  });

  test('is refused with an invalid destination', () => {
    refused(
      changed((bytes) => void bytes.writeUInt8(9, COMMAND_AT + 3)),
      /address type/,
    );
    refused(
      changed((bytes) => void bytes.writeUInt8(0x20, COMMAND_AT + 5)),
      /destination/,
    );
  });
});

describe('the seal of a request', () => {
  // made by Xray-core, SealVMessAEADHeader(key, "Test Header")
  const XRAY = Buffer.from(
    'a749ace0e18ea25ae2cf2b6f11aba05edb9da9be63a101249621bfd0d994ff88cf81f498aeea2038ffa8031d' +
      '1239933aef7a83325f3922c252d875ff638c129ec1f5e8ea94',
    'hex',
  );
  const box = requestBox(KEY, XRAY.subarray(0, 16), XRAY.subarray(34, 42));

  test('of Xray-core is opened, and made again', () => {
    assert.equal(openLength(box, XRAY.subarray(16, 34)), 11);
    assert.equal(String(openHeader(box, XRAY.subarray(42))), 'Test Header');
    assert.deepEqual(sealLength(box, 11), XRAY.subarray(16, 34));
    assert.deepEqual(sealHeader(box, Buffer.from('Test Header')), XRAY.subarray(42));
  });

  test('is broken by any byte', () => {
    for (let at = 0; at < XRAY.length; at++) {
      const bytes = Buffer.from(XRAY);
      bytes.writeUInt8((bytes[at] ?? 0) ^ 0xff, at);
      const other = requestBox(KEY, bytes.subarray(0, 16), bytes.subarray(34, 42));
      const length = openLength(other, bytes.subarray(16, 34));
      assert.ok(length === undefined || openHeader(other, bytes.subarray(42)) === undefined);
    }
  });
});

describe('a request', () => {
  const seal = (header = HEADER): Buffer => {
    const sealed = new RequestSealer(KEY, new KnownRandom()).seal(header, 1_700_000_000);
    assert.ok(sealed);
    return sealed;
  };

  /** Reads what comes in these pieces, and gives what is left. */
  async function read(pieces: readonly Uint8Array[]): Promise<[RequestHeader, Buffer]> {
    const [client, server] = linkPair();
    for (const piece of pieces) void client.write(piece);
    await client.closeWrite();
    const reader = new BoundedReader(server, MAX_REQUEST);
    const header = await readRequest(reader, () => Promise.resolve(KEY));
    reader.release();
    const rest: Uint8Array[] = [];
    for (let chunk = await server.read(); chunk; chunk = await server.read()) rest.push(chunk);
    return [header, Buffer.concat(rest)];
  }

  test('is read in any pieces, and what follows is left', async () => {
    const bytes = Buffer.concat([seal(), Buffer.from('body')]);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: bytes.length }), { maxLength: 20 }), async (cuts) => {
        const ends = [...cuts.toSorted((a, b) => a - b), bytes.length];
        const pieces = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
        const [header, rest] = await read(pieces);
        assert.deepEqual(header, HEADER);
        assert.equal(String(rest), 'body');
      }),
      { numRuns: 30 },
    );
  });

  test('is read when it has the longest name and the longest padding', async () => {
    const destination = { host: 'a'.repeat(255), port: 443 };
    const header: RequestHeader = { ...HEADER, request: { command: 1, destination } };
    const plain = encoded(header, Buffer.alloc(15));
    assert.equal(plain.length, MAX_HEADER);
    const bytes = seal();
    const box = requestBox(KEY, bytes.subarray(0, 16), bytes.subarray(34, 42));
    const sealed = [sealLength(box, plain.length), bytes.subarray(34, 42), sealHeader(box, plain)];
    assert.deepEqual((await read([bytes.subarray(0, 16), ...sealed]))[0], header);
  });

  test('that is refused is reported at once, and its connection kept until it closes', async () => {
    const [client, server] = linkPair();
    const reported = Promise.withResolvers<unknown>();
    const cause = new ProtocolError('no such user');
    const received = receiveRequest(
      server,
      new ManualClock(),
      () => Promise.reject(cause),
      reported.resolve,
    );
    void client.write(seal());
    assert.equal(await reported.promise, cause);
    await client.closeWrite();
    await assert.rejects(received, cause);
  });

  test('is refused when it says it is longer than one can be', async () => {
    const bytes = seal();
    const box = requestBox(KEY, bytes.subarray(0, 16), bytes.subarray(34, 42));
    for (const length of [MAX_HEADER + 1, 0xffff]) {
      const longer = Buffer.concat([
        bytes.subarray(0, 16),
        sealLength(box, length),
        bytes.subarray(34),
      ]);
      await assert.rejects(read([longer]), /too long/);
    }
  });

  test('is refused for every length that it has not', async () => {
    const bytes = seal();
    const box = requestBox(KEY, bytes.subarray(0, 16), bytes.subarray(34, 42));
    for (let length = 0; length <= MAX_HEADER; length++) {
      if (length === bytes.length - 42 - 16) continue;
      const other = [bytes.subarray(0, 16), sealLength(box, length), bytes.subarray(34)];
      await assert.rejects(read([Buffer.concat(other)]), ProtocolError);
    }
  });

  test('with any header under a good seal is read or refused with a named error', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: MAX_HEADER, size: 'max' }), async (plain) => {
        const bytes = seal();
        const box = requestBox(KEY, bytes.subarray(0, 16), bytes.subarray(34, 42));
        const forged = [
          bytes.subarray(0, 16),
          sealLength(box, plain.length),
          bytes.subarray(34, 42),
          sealHeader(box, plain),
        ];
        await assert.rejects(read(forged), ProtocolError);
      }),
      { numRuns: 50 },
    );
  });
});
