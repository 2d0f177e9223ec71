/**
 * The header before each packet of a device with IFF_VNET_HDR (`struct virtio_net_hdr`,
 * include/uapi/linux/virtio_net.h): flags 0, type of segmentation 1, length of headers 2, segment
 * size 4, start of the checksum 6, its offset 8. Little-endian, like both supported machines.
 */
export const VIRTIO_HEADER = 10;

const NEEDS_CSUM = 1;
const DATA_VALID = 2;

const GSO_NONE = 0;
const GSO_TCPV4 = 1;
const GSO_TCPV6 = 4;
const GSO_UDP_L4 = 5;
/** Added to a type if segments carry congestion marks. */
const GSO_ECN = 0x80;

const TCP_CHECKSUM_OFFSET = 16;

/** Whether the transport checksum was verified by the kernel, or is yet to be completed. */
export const needsNoCheck = (memory: Uint8Array, at: number): boolean =>
  ((memory[at] as number) & (NEEDS_CSUM | DATA_VALID)) !== 0;

/**
 * Returns the payload bytes of each segment of a merged packet; 0 for a plain packet, -1 for an unsupported
 * type.
 */
export function segmentSizeOf(memory: Uint8Array, at: number): number {
  switch ((memory[at + 1] as number) & ~GSO_ECN) {
    case GSO_NONE:
      return 0;
    case GSO_TCPV4:
    case GSO_TCPV6:
    case GSO_UDP_L4:
      return (memory[at + 4] as number) | ((memory[at + 5] as number) << 8);
    default:
      return -1;
  }
}

/**
 * Writes the header before a packet.
 * @param segmentSize payload bytes of each segment; 0 for a packet that is not to be segmented.
 * @param checksumStart where the transport header begins, from the start of the packet; -1 if the checksum is complete.
 */
export function putVirtioHeader(
  memory: Uint8Array,
  at: number,
  segmentSize: number,
  checksumStart: number,
  checksumOffset: number,
): void {
  memory.fill(0, at, at + VIRTIO_HEADER);
  if (checksumStart < 0) return;
  memory[at] = NEEDS_CSUM;
  put16(memory, at + 6, checksumStart);
  put16(memory, at + 8, checksumOffset);
  if (segmentSize === 0) return;
  const packet = at + VIRTIO_HEADER;
  const transport = packet + checksumStart;
  if (checksumOffset === TCP_CHECKSUM_OFFSET) {
    memory[at + 1] = (memory[packet] as number) >> 4 === 4 ? GSO_TCPV4 : GSO_TCPV6;
    const header = ((memory[transport + 12] as number) >> 4) * 4;
    put16(memory, at + 2, checksumStart + header);
  } else {
    memory[at + 1] = GSO_UDP_L4;
    put16(memory, at + 2, checksumStart + 8);
  }
  put16(memory, at + 4, segmentSize);
}

function put16(memory: Uint8Array, at: number, value: number): void {
  memory[at] = value;
  memory[at + 1] = value >>> 8;
}
