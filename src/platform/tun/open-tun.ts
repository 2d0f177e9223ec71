import { WeirError } from '../../errors.ts';
import type { SystemCalls } from '../sockets/bindings.ts';
import { Descriptor } from '../sockets/descriptor.ts';
import { errorText } from '../sockets/errno.ts';
import {
  EACCES,
  EBUSY,
  EINVAL,
  ENODEV,
  ENOENT,
  ENXIO,
  EPERM,
  O_CLOEXEC,
  O_NONBLOCK,
  O_RDWR,
} from '../sockets/linux.ts';
import type { NativeMemory } from '../native-memory.ts';
import { VIRTIO_HEADER } from './virtio-header.ts';

// Numbers of include/uapi/linux/if_tun.h and if.h.
const TUNSETIFF = 0x4004_54ca;
const TUNSETOFFLOAD = 0x4004_54d0;
const TUNSETVNETHDRSZ = 0x4004_54d8;
const IFF_TUN = 0x0001;
const IFF_NO_PI = 0x1000;
const IFF_VNET_HDR = 0x4000;
/** Flag: fails if the device exists, so that another program's persistent device is not taken over. */
const IFF_TUN_EXCL = 0x8000;
const TUN_F_CSUM = 0x01;
const TUN_F_TSO4 = 0x02;
const TUN_F_TSO6 = 0x04;
const TUN_F_USO4 = 0x20;
const TUN_F_USO6 = 0x40;

/** Bytes of an interface's name, including the terminating zero (IFNAMSIZ). */
const NAME_SIZE = 16;

/** The longest name of an interface, in bytes. */
export const LONGEST_NAME = NAME_SIZE - 1;

/**
 * The error of a TUN device that could not be created. The code is `EEXIST` if another device has its name or one of
 * its routes.
 */
export class TunError extends WeirError {
  declare readonly code: 'tun' | 'EEXIST';

  constructor(message: string, options?: ErrorOptions, code: 'tun' | 'EEXIST' = 'tun') {
    super(code, message, options);
  }
}

/** A created device, which is removed when the descriptor is closed. */
export interface OpenedTun {
  readonly descriptor: Descriptor;
  /** The name that the kernel assigned. */
  readonly name: string;
  /** The index of the interface. */
  readonly index: number;
  /** Whether TCP segmentation and checksums are offloaded, in both directions. */
  readonly segmentsTcp: boolean;
  /** Whether UDP segmentation is offloaded, in both directions; since Linux 6.2. */
  readonly segmentsUdp: boolean;
}

/**
 * Creates a TUN device with a virtio header before each packet.
 *
 * @param name the name of the device; `undefined` lets the kernel choose.
 * @throws {TunError} with the reason as text.
 */
export function openTun(calls: SystemCalls, name: string | undefined): OpenedTun {
  if (name !== undefined && Buffer.byteLength(name) > LONGEST_NAME) {
    throw new TunError('device name too long');
  }
  const fd = calls.open('/dev/net/tun', O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) throw new TunError(openingReason(calls.errno()));
  const descriptor = new Descriptor(calls, fd);
  try {
    const request = calls.memory(40);
    return { descriptor, ...create(calls, fd, request, name) };
  } catch (error) {
    descriptor.close();
    throw error;
  }
}

function create(
  calls: SystemCalls,
  fd: number,
  request: NativeMemory,
  name: string | undefined,
): Omit<OpenedTun, 'descriptor'> {
  // struct ifreq: name 0, flags 16.
  request.bytes.write(name ?? '', 0);
  request.bytes.writeUInt16LE(IFF_TUN | IFF_NO_PI | IFF_VNET_HDR | IFF_TUN_EXCL, NAME_SIZE);
  if (calls.ioctl(fd, TUNSETIFF, request.at) !== 0) {
    const errno = calls.errno();
    const code = errno === EBUSY ? 'EEXIST' : 'tun';
    throw new TunError(creationReason(errno, name), undefined, code);
  }
  const chosen = request.bytes.toString('utf8', 0, request.bytes.indexOf(0));
  const index = calls.ifNameToIndex(chosen);
  // The lookup opens a socket.
  if (index === 0) throw new TunError(`cannot find ${chosen}: ${errorText(calls.errno())}`);
  request.bytes.writeInt32LE(VIRTIO_HEADER, 0);
  if (calls.ioctl(fd, TUNSETVNETHDRSZ, request.at) !== 0) {
    throw new TunError(`the kernel refuses a virtio header: ${errorText(calls.errno())}`);
  }
  const takes = (offloads: number): boolean => calls.ioctl(fd, TUNSETOFFLOAD, offloads) === 0;
  const tcp = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6;
  const segmentsUdp = takes(tcp | TUN_F_USO4 | TUN_F_USO6);
  const segmentsTcp = segmentsUdp || takes(tcp);
  return { name: chosen, index, segmentsTcp, segmentsUdp };
}

function openingReason(errno: number): string {
  switch (errno) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
      return 'this system has no /dev/net/tun: load the kernel module "tun"';
    case EACCES:
    case EPERM:
      return 'no permission to open /dev/net/tun: a TUN device needs root, or CAP_NET_ADMIN together with read and write access to that file';
    default:
      return `cannot open /dev/net/tun: ${errorText(errno)}`;
  }
}

function creationReason(errno: number, name: string | undefined): string {
  switch (errno) {
    case EPERM:
      return 'no permission to create a TUN device: it needs root or CAP_NET_ADMIN';
    case EBUSY:
      return `a device named ${name} exists already`;
    case EINVAL:
      return name === undefined
        ? 'the kernel refuses to create a TUN device'
        : `${name} is not a valid device name, or a device of this name exists already`;
    default:
      return `cannot create the TUN device: ${errorText(errno)}`;
  }
}
