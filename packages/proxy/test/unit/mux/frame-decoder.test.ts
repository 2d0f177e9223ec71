import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { ProtocolError } from '@weir/io';
import { MuxFrameDecoder } from '../../../src/mux/frame.ts';
import { chunksOf, cuts, nearly } from '../../../../../test/support/data/chunks.ts';
import {
  addressed,
  END,
  FAILED,
  frame,
  KEEP,
  KEEP_ALIVE,
  NEW,
} from '../../../../../test/support/peers/mux-client.ts';

const SITE = { host: 'a.example', port: 80 };
const DNS = { host: '2001:db8::7', port: 53 };

const SAMPLES = [
  frame(1, NEW, 'hello', addressed('tcp', SITE)),
  frame(2, NEW, undefined, addressed('udp', DNS, Buffer.alloc(8, 1))),
  frame(1, KEEP, 'x'.repeat(60)),
  frame(2, KEEP, '', addressed('udp', SITE)),
  frame(1, END, undefined, undefined, FAILED),
  frame(9, KEEP_ALIVE, 'pad'),
];

/** The events of a decoder for these pieces, with data joined. */
function outcome(chunks: readonly Uint8Array[]): unknown[] {
  const decoder = new MuxFrameDecoder();
  const seen: unknown[] = [];
  let data = '';
  try {
    for (const chunk of chunks) {
      for (const event of decoder.decode(chunk)) {
        if (event.kind === 'header') seen.push({ ...event.header, length: event.length });
        else {
          data += Buffer.from(event.bytes).toString('hex');
          if (!event.last) continue;
          seen.push(data);
          data = '';
        }
      }
    }
  } catch (error) {
    assert.ok(error instanceof ProtocolError, String(error));
    seen.push(error.message);
  }
  return [...seen, data];
}

describe('the decoder of Mux.Cool frames', () => {
  test('reads what clients write', () => {
    assert.deepEqual(outcome([Buffer.concat(SAMPLES)]), [
      {
        id: 1,
        hasData: true,
        status: NEW,
        network: 'tcp',
        destination: SITE,
        addressed: false,
        length: 5,
      },
      Buffer.from('hello').toString('hex'),
      {
        id: 2,
        hasData: false,
        status: NEW,
        network: 'udp',
        destination: DNS,
        addressed: true,
        length: 0,
      },
      { id: 1, hasData: true, status: KEEP, peer: undefined, length: 60 },
      '78'.repeat(60),
      { id: 2, hasData: true, status: KEEP, peer: SITE, length: 0 },
      { id: 1, hasData: false, status: END, failed: true, length: 0 },
      { id: 9, hasData: true, status: KEEP_ALIVE, length: 3 },
      Buffer.from('pad').toString('hex'),
      '',
    ]);
  });

  test('decodes any bytes in any pieces alike, to a result or a named error', () => {
    fc.assert(
      fc.property(nearly(...SAMPLES), cuts, (bytes, at) => {
        assert.deepEqual(outcome(chunksOf(bytes, at)), outcome([bytes]));
      }),
      { numRuns: 2_000 },
    );
  });
});
