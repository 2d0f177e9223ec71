import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FrameType, readUint31, writeFrameHeader } from '../../../../src/http/http2/frames.ts';
import { SETTINGS_LIMIT, WINDOW_LIMIT } from '../../../../src/http/http2/limits.ts';
import { encodeSettings, PeerSettings } from '../../../../src/http/http2/settings.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const uint32 = (value: number): string => value.toString(16).padStart(8, '0');

/** The error with which a peer's parameters end the connection; `undefined` when they are accepted. */
function errorOf(payload: string | Uint8Array, fromServer = false): string | undefined {
  const bytes = typeof payload === 'string' ? hex(payload) : payload;
  const error = new PeerSettings().apply(bytes, fromServer);
  assert.equal(error?.scope, error && 'connection');
  return error?.name;
}

/** The peer's parameters after a payload that is accepted. */
function after(payload: string) {
  const settings = new PeerSettings();
  assert.equal(settings.apply(hex(payload), false), undefined);
  const { headerTableSize, maxConcurrentStreams, initialWindowSize } = settings;
  const { maxFrameSize, maxHeaderListSize } = settings;
  return {
    headerTableSize,
    maxConcurrentStreams,
    initialWindowSize,
    maxFrameSize,
    maxHeaderListSize,
  };
}

const INITIAL = {
  headerTableSize: 4096,
  maxConcurrentStreams: Infinity,
  initialWindowSize: 65_535,
  maxFrameSize: 16_384,
  maxHeaderListSize: Infinity,
};

describe('parameters that are sent (RFC 9113 §6.5.1, §6.5.2)', () => {
  test('have an identifier of 16 bits and a value of 32 bits each', () => {
    const bytes = encodeSettings({
      headerTableSize: 1,
      enablePush: true,
      maxConcurrentStreams: 3,
      initialWindowSize: 0x0405_0607,
      maxFrameSize: 0x8000,
      maxHeaderListSize: 6,
    });
    const expected = hex(
      '0001 00000001  0002 00000001  0003 00000003  0004 04050607  0005 00008000  0006 00000006',
    );
    assert.deepEqual(Buffer.from(bytes), expected);
  });

  test('that are left out are not sent, and those of 0 are', () => {
    assert.equal(encodeSettings({}).length, 0);
    const bytes = encodeSettings({ enablePush: false, maxHeaderListSize: 7 });
    assert.deepEqual(Buffer.from(bytes), hex('0002 00000000  0006 00000007'));
  });
});

describe('parameters of the peer (RFC 9113 §6.5.2)', () => {
  test('have the initial values of the RFC, which each parameter changes alone', () => {
    assert.deepEqual(after(''), INITIAL);
    for (const [payload, change] of [
      ['0001 00000005', { headerTableSize: 5 }],
      ['0002 00000001', {}],
      ['0003 00000005', { maxConcurrentStreams: 5 }],
      ['0004 00000005', { initialWindowSize: 5 }],
      ['0005 00004001', { maxFrameSize: 16_385 }],
      ['0006 00000005', { maxHeaderListSize: 5 }],
    ] as const) {
      assert.deepEqual(after(payload), { ...INITIAL, ...change }, payload);
    }
  });

  test('are applied in their order', () => {
    assert.equal(after('0004 00000001  0003 00000009  0004 00000002').initialWindowSize, 2);
  });

  test('that are unknown are ignored, whatever their value (RFC 9113 §6.5.2)', () => {
    for (const id of ['0000', '0007', '0008', '0101', '0402', 'ffff']) {
      assert.deepEqual(after(`${id} ffffffff`), INITIAL, id);
    }
  });

  test('with half a parameter are FRAME_SIZE_ERROR (RFC 9113 §6.5)', () => {
    for (const length of [1, 5, 7, 11]) {
      assert.equal(errorOf(Buffer.alloc(length)), 'FRAME_SIZE_ERROR');
    }
  });

  test('as many as the limit are accepted, one more is ENHANCE_YOUR_CALM', () => {
    assert.equal(errorOf(Buffer.alloc(SETTINGS_LIMIT * 6)), undefined);
    assert.equal(errorOf(Buffer.alloc((SETTINGS_LIMIT + 1) * 6)), 'ENHANCE_YOUR_CALM');
  });

  test('to enable pushes are 0 or 1, and only 0 from a server', () => {
    assert.equal(errorOf('0002 00000000'), undefined);
    assert.equal(errorOf('0002 00000001'), undefined);
    assert.equal(errorOf('0002 00000002'), 'PROTOCOL_ERROR');
    assert.equal(errorOf('0002 00000000', true), undefined);
    assert.equal(errorOf('0002 00000001', true), 'PROTOCOL_ERROR');
    assert.equal(errorOf('0002 80000000', true), 'PROTOCOL_ERROR');
  });

  test('for the initial window are at most 2^31 - 1', () => {
    assert.equal(after(`0004 ${uint32(WINDOW_LIMIT)}`).initialWindowSize, WINDOW_LIMIT);
    assert.equal(errorOf(`0004 ${uint32(WINDOW_LIMIT + 1)}`), 'FLOW_CONTROL_ERROR');
  });

  test('for the size of frames are from 2^14 to 2^24 - 1', () => {
    assert.equal(after(`0005 ${uint32(2 ** 14)}`).maxFrameSize, 2 ** 14);
    assert.equal(after(`0005 ${uint32(2 ** 24 - 1)}`).maxFrameSize, 2 ** 24 - 1);
    assert.equal(errorOf(`0005 ${uint32(2 ** 14 - 1)}`), 'PROTOCOL_ERROR');
    assert.equal(errorOf(`0005 ${uint32(2 ** 24)}`), 'PROTOCOL_ERROR');
  });

  test('behind an invalid one are not applied, those before it are', () => {
    const settings = new PeerSettings();
    const payload = hex('0003 00000001  0002 00000002  0003 00000009');
    assert.equal(settings.apply(payload, false)?.name, 'PROTOCOL_ERROR');
    assert.equal(settings.maxConcurrentStreams, 1);
  });
});

describe('the header of a frame (RFC 9113 §4.1)', () => {
  test('has a length of 24 bits, a type, flags and a stream identifier', () => {
    const out = Buffer.alloc(12);
    assert.equal(writeFrameHeader(out, 2, 0x01_0203, FrameType.PING, 0x25, 0x0708_090a), 11);
    assert.deepEqual(out, hex('0000 010203 06 25 0708090a 00'));
  });

  test('is read without the reserved bit of its identifier', () => {
    assert.equal(readUint31(hex('00 ffffffff'), 1), 0x7fff_ffff);
    assert.equal(readUint31(hex('80000001'), 0), 1);
    assert.equal(readUint31(hex('41020304'), 0), 0x4102_0304);
  });
});
