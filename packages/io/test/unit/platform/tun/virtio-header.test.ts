import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  needsNoCheck,
  putVirtioHeader,
  segmentSizeOf,
  VIRTIO_HEADER,
} from '../../../../src/platform/tun/virtio-header.ts';

/** Memory with a packet of this IP version, whose TCP header has 32 bytes. */
function packet(version: number, checksumStart: number): Uint8Array {
  const memory = new Uint8Array(200).fill(0xff);
  memory[VIRTIO_HEADER] = version << 4;
  memory[VIRTIO_HEADER + checksumStart + 12] = 0x80;
  return memory;
}

const headerOf = (memory: Uint8Array): number[] => [...memory.subarray(0, VIRTIO_HEADER)];

describe('the virtio header', () => {
  test('of a packet whose checksum is complete says nothing', () => {
    const memory = packet(4, 20);
    putVirtioHeader(memory, 0, 0, -1, 0);
    assert.deepEqual(headerOf(memory), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert.equal(needsNoCheck(memory, 0), false);
    assert.equal(segmentSizeOf(memory, 0), 0);
  });

  test('says where a partial checksum is to be completed', () => {
    const memory = packet(4, 20);
    putVirtioHeader(memory, 0, 0, 20, 6);
    assert.deepEqual(headerOf(memory), [1, 0, 0, 0, 0, 0, 20, 0, 6, 0]);
    assert.equal(needsNoCheck(memory, 0), true);
  });

  test('says how a long segment is to be split, for each protocol', () => {
    const v4 = packet(4, 20);
    putVirtioHeader(v4, 0, 1448, 20, 16);
    assert.deepEqual(headerOf(v4), [1, 1, 52, 0, 0xa8, 5, 20, 0, 16, 0]);
    assert.equal(segmentSizeOf(v4, 0), 1448);
    const v6 = packet(6, 40);
    putVirtioHeader(v6, 0, 1428, 40, 16);
    assert.deepEqual(headerOf(v6).slice(0, 4), [1, 4, 72, 0]);
    const udp = packet(4, 20);
    putVirtioHeader(udp, 0, 1200, 20, 6);
    assert.deepEqual(headerOf(udp).slice(0, 4), [1, 5, 28, 0]);
  });

  test('a kind of segmentation that was not asked for is known as such', () => {
    const memory = new Uint8Array(VIRTIO_HEADER);
    memory[1] = 3; // UDP fragmentation offload
    memory[4] = 100;
    assert.equal(segmentSizeOf(memory, 0), -1);
    memory[1] = 1 | 0x80; // TCP over IPv4 with ECN
    assert.equal(segmentSizeOf(memory, 0), 100);
    memory[0] = 2; // checked by the kernel
    assert.equal(needsNoCheck(memory, 0), true);
  });
});
