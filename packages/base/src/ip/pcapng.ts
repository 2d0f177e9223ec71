/*
 * Blocks of a capture file that Wireshark and tcpdump read: draft-ietf-opsawg-pcapng. They are written in
 * big-endian order, which the magic number of the section states. Each function writes one block at `at`,
 * returns its end, and needs as much room as its `*_ROOM` says.
 */

const SECTION_HEADER = 0x0a0d_0d0a;
const BYTE_ORDER_MAGIC = 0x1a2b_3c4d;
const INTERFACE_DESCRIPTION = 1;
const ENHANCED_PACKET = 6;
/**
 * A packet has four bytes before its IP header, the address family. LINKTYPE_RAW would do without them, but
 * libpcap 1.10 rejects a file with two interfaces of that type.
 */
const LINKTYPE_LOOP = 108;
const FAMILY_BYTES = 4;
/** Address families with the values of OpenBSD, where this link type comes from. */
const AF_INET = 2;
const AF_INET6 = 24;
const UNKNOWN_LENGTH = 0xffff_ffff;

const IF_NAME = 2;
const EPB_FLAGS = 2;
const EPB_DROPCOUNT = 4;
/** Values of the low two bits of `EPB_FLAGS`. */
const DIRECTION = { in: 1, out: 2 } as const;

/** `in` to the program, `out` from it to the device. */
export type PacketDirection = keyof typeof DIRECTION;

/** Captured bytes of a packet: all of a packet without segments, the beginning of one with them. */
export const SNAP_LENGTH = 2_048;
/** Bytes of an interface name that are kept. */
const LONGEST_NAME = 255;

export const SECTION_ROOM = 28;
export const INTERFACE_ROOM = 32 + LONGEST_NAME;
export const PACKET_ROOM = 68 + SNAP_LENGTH;

/** Writes the section header: the beginning of a file, or of a new list of interfaces within one. */
export function putSection(out: Buffer, at: number): number {
  out.writeUInt32BE(SECTION_HEADER, at);
  out.writeUInt32BE(BYTE_ORDER_MAGIC, at + 8);
  out.writeUInt16BE(1, at + 12);
  out.writeUInt16BE(0, at + 14);
  out.writeUInt32BE(UNKNOWN_LENGTH, at + 16);
  out.writeUInt32BE(UNKNOWN_LENGTH, at + 20);
  return finish(out, at, at + 24);
}

/**
 * Writes an interface description; packets refer to an interface by its index in the section. A long name is truncated.
 */
export function putInterface(out: Buffer, at: number, name: string): number {
  out.writeUInt32BE(INTERFACE_DESCRIPTION, at);
  out.writeUInt16BE(LINKTYPE_LOOP, at + 8);
  out.writeUInt16BE(0, at + 10);
  out.writeUInt32BE(FAMILY_BYTES + SNAP_LENGTH, at + 12);
  const length = out.write(name, at + 20, LONGEST_NAME, 'utf8');
  out.writeUInt16BE(IF_NAME, at + 16);
  out.writeUInt16BE(length, at + 18);
  return finish(out, at, endOptions(out, pad(out, at + 20 + length)));
}

/**
 * Writes a packet.
 * @param index of its interface in the section
 * @param time Unix time in milliseconds, with a fraction; kept in microseconds
 * @param lost packets that were not written since the one before, of any interface
 */
export function putPacket(
  out: Buffer,
  at: number,
  index: number,
  time: number,
  direction: PacketDirection,
  packet: Uint8Array,
  lost: number,
): number {
  const kept = Math.min(packet.length, SNAP_LENGTH);
  const microseconds = Math.round(time * 1000);
  out.writeUInt32BE(ENHANCED_PACKET, at);
  out.writeUInt32BE(index, at + 8);
  out.writeUInt32BE(Math.floor(microseconds / 2 ** 32), at + 12);
  out.writeUInt32BE(microseconds % 2 ** 32, at + 16);
  out.writeUInt32BE(FAMILY_BYTES + kept, at + 20);
  out.writeUInt32BE(FAMILY_BYTES + packet.length, at + 24);
  out.writeUInt32BE((packet[0] ?? 0) >> 4 === 6 ? AF_INET6 : AF_INET, at + 28);
  out.set(kept < packet.length ? packet.subarray(0, kept) : packet, at + 32);
  let end = pad(out, at + 32 + kept);
  out.writeUInt16BE(EPB_FLAGS, end);
  out.writeUInt16BE(4, end + 2);
  out.writeUInt32BE(DIRECTION[direction], end + 4);
  end += 8;
  if (lost > 0) {
    out.writeUInt16BE(EPB_DROPCOUNT, end);
    out.writeUInt16BE(8, end + 2);
    out.writeBigUInt64BE(BigInt(lost), end + 4);
    end += 12;
  }
  return finish(out, at, endOptions(out, end));
}

const endOptions = (out: Buffer, at: number): number => out.writeUInt32BE(0, at);

/** Blocks and options begin at multiples of four bytes. */
function pad(out: Buffer, at: number): number {
  const end = (at + 3) & ~3;
  out.fill(0, at, end);
  return end;
}

/** Completes a block: its length precedes and follows its body, so that a file can be read backwards. */
function finish(out: Buffer, at: number, end: number): number {
  const length = end + 4 - at;
  out.writeUInt32BE(length, at + 4);
  return out.writeUInt32BE(length, end);
}
