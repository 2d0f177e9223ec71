import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ControlReader } from '../../../../src/http/http3/control-stream.ts';
import { http3ErrorName } from '../../../../src/http/http3/errors.ts';
import { frameHead } from '../../../../src/http/http3/frames.ts';
import { CONTROL_FRAME_LIMIT } from '../../../../src/http/http3/limits.ts';

type Role = 'client' | 'server';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

/** The error with which a control stream closes the connection of that role, if any. */
function errorOf(role: Role, text: string): string | undefined {
  const error = new ControlReader(role).feed(hex(text));
  if (!error) return undefined;
  assert.equal(error.scope, 'connection');
  return `${http3ErrorName(error.code)}: ${error.reason}`;
}

/** An empty SETTINGS frame. */
const SETTINGS = '0400';
const HIGHEST = 'fffffffffffffffc'; // 2^62 - 4

/** What either role rejects behind SETTINGS, and the reason that the peer is given. */
const VIOLATIONS: Readonly<Record<string, readonly string[]>> = {
  'H3_FRAME_UNEXPECTED: a second SETTINGS frame': [SETTINGS, '0402 0601'],
  'H3_FRAME_UNEXPECTED: a frame of requests on the control stream': ['0000', '0100', '0500'],
  'H3_FRAME_UNEXPECTED: a frame of HTTP/2': ['0200', '0600', '0800', '0900'],
  // No integer, more than one, one that is incomplete, and more octets than any has.
  'H3_FRAME_ERROR: the payload is not one integer': [
    '0700',
    '0300',
    '0702 0000',
    '0701 40',
    '0707 c0000000000000',
    '0709 c00000000000000000',
    '0304 00000000',
    // Known from the head alone: nothing is collected.
    '0709',
    '0380 010000',
  ],
  'H3_ID_ERROR: CANCEL_PUSH of a push that was not promised': ['0301 00', '0308 c000000000000000'],
  'H3_ID_ERROR: GOAWAY was raised': ['0701 04 0701 08', `0701 04 0708 ${HIGHEST}`],
};

for (const role of ['client', 'server'] as const) {
  describe(`the control stream of the peer of a ${role}`, () => {
    test('begins with SETTINGS, which are known then (RFC 9114 §6.2.1)', () => {
      for (const first of ['2100', '0701 00', '0000', '0d01 00']) {
        assert.equal(
          errorOf(role, first),
          'H3_MISSING_SETTINGS: the control stream begins without SETTINGS',
        );
      }
      const reader = new ControlReader(role);
      assert.equal(reader.feed(hex('0402 06')), undefined);
      assert.equal(reader.settings, undefined);
      assert.equal(reader.feed(hex('05')), undefined);
      assert.deepEqual(reader.settings, new Map([[6, 5]]));
    });

    test('has SETTINGS of a limited length, which is checked at its head', () => {
      const limit = frameHead(0x04, CONTROL_FRAME_LIMIT);
      assert.equal(new ControlReader(role).feed(limit), undefined);
      const more = frameHead(0x04, CONTROL_FRAME_LIMIT + 1);
      const error = new ControlReader(role).feed(more);
      assert.equal(error && http3ErrorName(error.code), 'H3_EXCESSIVE_LOAD');
    });

    test('has SETTINGS that are valid (RFC 9114 §7.2.4)', () => {
      assert.equal(errorOf(role, '0402 0301'), 'H3_SETTINGS_ERROR: a setting of HTTP/2');
      assert.equal(errorOf(role, '0401 06'), 'H3_FRAME_ERROR: SETTINGS ends within a setting');
    });

    for (const [expected, frames] of Object.entries(VIOLATIONS)) {
      test(`closes the connection with ${expected}`, () => {
        for (const text of frames) assert.equal(errorOf(role, SETTINGS + text), expected, text);
      });
    }

    test('may have frames of unknown types of any length (RFC 9114 §9)', () => {
      assert.equal(errorOf(role, `${SETTINGS} 2100 21 03 aabbcc 4040 01 dd 0701 00`), undefined);
    });

    test('may repeat a GOAWAY and lower it, from the highest id on (RFC 9114 §5.2)', () => {
      const goAways = `0708 ${HIGHEST} 0708 ${HIGHEST} 0701 08 0702 4008 0701 04 0701 00`;
      assert.equal(errorOf(role, SETTINGS + goAways), undefined);
    });
  });
}

test('GOAWAY of a server names a request stream, that of a client any push (RFC 9114 §7.2.6)', () => {
  for (const id of ['01', '02', '03', '4005']) {
    const goAway = `${SETTINGS} 070${id.length / 2} ${id}`;
    assert.equal(errorOf('client', goAway), 'H3_ID_ERROR: GOAWAY names no request stream');
    assert.equal(errorOf('server', goAway), undefined);
  }
});

test('MAX_PUSH_ID is sent by clients alone, and may grow or stay (RFC 9114 §7.2.7)', () => {
  assert.equal(
    errorOf('client', `${SETTINGS} 0d01 00`),
    'H3_FRAME_UNEXPECTED: MAX_PUSH_ID from a server',
  );
  assert.equal(errorOf('server', `${SETTINGS} 0d01 00 0d01 00 0d01 05 0d02 4005`), undefined);
  for (const frames of ['0d01 05 0d01 04', '0d01 01 0d01 00']) {
    assert.equal(errorOf('server', SETTINGS + frames), 'H3_ID_ERROR: MAX_PUSH_ID was reduced');
  }
});
