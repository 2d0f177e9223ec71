import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressText } from '@weir/base/ip';
import { Fragmentation } from '../../src/ip/ip-output.ts';
import { FragmentReassembly } from '../../src/ip/fragment-reassembly.ts';
import { readTcpSegment, TcpSegment, tcpHeaderSize } from '../../src/wire/tcp.ts';
import { readUdpDatagram, UdpDatagram } from '../../src/wire/udp.ts';
import { parsed, tcpPacket } from '../../../../test/support/data/ip-packets.ts';

/*
 * Packets that Linux 6 wrote to a TUN device without offloads.
 */

const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'hex'));

const SYN_4 = hex(
  '4500003c8e6740004006c01dc0000201c6336402edaa01bb4072fcaf00000000a002faf039760000' +
    '020405b40402080a32b0c826000000000103030a',
);
const SYN_6 = hex(
  '600677950028064020010db800000000000000000000000120010db8000100000000000000000002' +
    'e0e201bbce3877ba00000000a002fd2057770000020405a00402080a33253c4d000000000103030a',
);

test('the SYN of Linux is read, and written again byte for byte', () => {
  for (const [bytes, mss] of [
    [SYN_4, 1460],
    [SYN_6, 1440],
  ] as const) {
    const packet = parsed(bytes);
    const syn = new TcpSegment();
    assert.equal(readTcpSegment(packet, false, syn), undefined);
    assert.equal(syn.mss, mss);
    assert.equal(syn.windowScale, 10);
    assert.equal(syn.sackPermitted, true);
    assert.equal(syn.hasTimestamps, true);
    assert.equal(tcpHeaderSize(syn), 40);
    const { source, destination, hopLimit, identification, dontFragment } = packet;
    const parts = { source, destination, hopLimit, identification, dontFragment };
    const written = tcpPacket(syn, new Uint8Array(0), parts);
    // Linux labels the flow (RFC 6437); here the label is 0.
    if (packet.version === 6) written.set(bytes.subarray(0, 4));
    assert.deepEqual(written, bytes);
  }
});

/** What was sent: 3,000 bytes to port 53. */
const DATA = new Uint8Array(3000).map((_, at) => at * 7);

const ADDRESSES_6 = '20010db800000000000000000000000120010db8000100000000000000000002';

const DATAGRAMS = [
  {
    source: '192.0.2.1',
    udpHeader: '8b8500350bc01421',
    headers: [
      '450005dcbf0620004011a9d3c0000201c6336402',
      '450005dcbf0620b94011a91ac0000201c6336402',
      '45000044bf0601724011cdf9c0000201c6336402',
    ],
    dataSize: 1480,
    identification: 0xbf06,
  },
  {
    source: '2001:db8::1',
    udpHeader: 'b39800350bc07ccf',
    headers: [
      `600aa97705b02c40${ADDRESSES_6}1100000126f051ca`,
      `600aa97705b02c40${ADDRESSES_6}110005a926f051ca`,
      `600aa97700782c40${ADDRESSES_6}11000b5026f051ca`,
    ],
    dataSize: 1448,
    identification: 0x26f051ca,
  },
] as const;

for (const { source, udpHeader, headers, dataSize, identification } of DATAGRAMS) {
  test(`the fragments of Linux from ${source} are put together, and made again byte for byte`, () => {
    const payload = Uint8Array.of(...hex(udpHeader), ...DATA);
    const pieces = headers.map((header, index) =>
      Uint8Array.of(...hex(header), ...payload.subarray(index * dataSize, (index + 1) * dataSize)),
    );
    const reassembly = new FragmentReassembly();
    const outcomes = pieces.map((piece) => reassembly.receive(parsed(piece), 0));
    assert.deepEqual(outcomes, ['held', 'held', 'complete']);

    const packet = parsed(reassembly.packet, 0, reassembly.packetSize);
    const datagram = new UdpDatagram();
    assert.equal(readUdpDatagram(packet, false, datagram), undefined);
    assert.equal(addressText(packet.source), source);
    assert.deepEqual(datagram.bytes.slice(datagram.payload, datagram.payloadEnd), DATA);

    const fragmentation = new Fragmentation();
    assert.equal(fragmentation.begin(packet, 1500, identification), true);
    for (const piece of pieces) {
      // Over other bytes.
      const made = new Uint8Array(fragmentation.nextSize()).fill(0xa5);
      fragmentation.write(made, 0);
      assert.deepEqual(made, piece);
    }
    assert.equal(fragmentation.nextSize(), 0);
  });
}
