import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HpackDecoder, HpackEncoder } from '../../../../src/http2/hpack.ts';

type Pair = readonly [name: string, value: string];

interface Vector {
  readonly hex: string;
  readonly fields: readonly Pair[];
  /** The dynamic table afterwards, by the count of RFC 7541 §4.1. */
  readonly size: number;
}

const get = (scheme: string, path: string, ...rest: readonly Pair[]): readonly Pair[] => [
  [':method', 'GET'],
  [':scheme', scheme],
  [':path', path],
  [':authority', 'www.example.com'],
  ...rest,
];

const response = (status: string, date: string, ...rest: readonly Pair[]): readonly Pair[] => [
  [':status', status],
  ['cache-control', 'private'],
  ['date', `Mon, 21 Oct 2013 20:13:${date} GMT`],
  ['location', 'https://www.example.com'],
  ...rest,
];

const REQUESTS = [
  get('http', '/'),
  get('http', '/', ['cache-control', 'no-cache']),
  get('https', '/index.html', ['custom-key', 'custom-value']),
];
const RESPONSES = [
  response('302', '21'),
  response('307', '21'),
  response(
    '200',
    '22',
    ['content-encoding', 'gzip'],
    ['set-cookie', 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'],
  ),
];

const vectors = (
  lists: readonly (readonly Pair[])[],
  sizes: readonly number[],
  ...blocks: string[]
): readonly Vector[] =>
  blocks.map((hex, at) => ({ hex, fields: lists[at] ?? [], size: sizes[at] ?? 0 }));

/** A table size update to 256 bytes, with which the examples of responses begin. */
const TABLE_OF_256 = '3fe101';

const REQUEST_SIZES = [57, 110, 164];
const RESPONSE_SIZES = [222, 222, 215];

const PLAIN_REQUESTS = vectors(
  REQUESTS,
  REQUEST_SIZES,
  '828684410f7777772e6578616d706c652e636f6d',
  '828684be58086e6f2d6361636865',
  '828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565',
);
const CODED_REQUESTS = vectors(
  REQUESTS,
  REQUEST_SIZES,
  '828684418cf1e3c2e5f23a6ba0ab90f4ff',
  '828684be5886a8eb10649cbf',
  '828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf',
);
const PLAIN_RESPONSES = vectors(
  RESPONSES,
  RESPONSE_SIZES,
  `${TABLE_OF_256}4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d`,
  '4803333037c1c0bf',
  '88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31',
);
const CODED_RESPONSES = vectors(
  RESPONSES,
  RESPONSE_SIZES,
  `${TABLE_OF_256}488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3`,
  '4883640effc1c0bf',
  '88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007',
);

const DECODED: readonly (readonly [section: string, vectors: readonly Vector[]])[] = [
  [
    'C.2.1',
    vectors(
      [[['custom-key', 'custom-header']]],
      [55],
      '400a637573746f6d2d6b65790d637573746f6d2d686561646572',
    ),
  ],
  ['C.2.2', vectors([[[':path', '/sample/path']]], [0], '040c2f73616d706c652f70617468')],
  ['C.2.3', vectors([[['password', 'secret']]], [0], '100870617373776f726406736563726574')],
  ['C.2.4', vectors([[[':method', 'GET']]], [0], '82')],
  ['C.3', PLAIN_REQUESTS],
  ['C.4', CODED_REQUESTS],
  ['C.5', PLAIN_RESPONSES],
  ['C.6', CODED_RESPONSES],
];

for (const [section, list] of DECODED) {
  test(`the header blocks of RFC 7541 ${section} are decoded`, () => {
    const decoder = new HpackDecoder();
    for (const { hex, fields, size } of list) {
      const decoded = decoder.decode(Buffer.from(hex, 'hex'));
      assert.ok(Array.isArray(decoded), hex);
      assert.deepEqual(
        decoded,
        fields.map(([name, value]) => ({ name, value })),
      );
      assert.equal(decoder.tableSize, size);
    }
  });
}

test('header lists are encoded as in RFC 7541 C.4', () => {
  const encoder = new HpackEncoder();
  for (const { hex, fields, size } of CODED_REQUESTS) {
    const block = encoder.encode(fields.map(([name, value]) => ({ name, value })));
    assert.equal(Buffer.from(block).toString('hex'), hex);
    assert.equal(encoder.tableSize, size);
  }
});

// Not the blocks: the RFC has a Huffman code that is no shorter than its text.
test('the lists of RFC 7541 C.6 evict from a table of 256 bytes as there', () => {
  const [encoder, decoder] = [new HpackEncoder(), new HpackDecoder()];
  encoder.limit(256);
  for (const { fields, size } of CODED_RESPONSES) {
    const list = fields.map(([name, value]) => ({ name, value }));
    assert.deepEqual(decoder.decode(encoder.encode(list)), list);
    assert.deepEqual([encoder.tableSize, decoder.tableSize], [size, size]);
  }
});
