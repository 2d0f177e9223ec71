import { WeirError } from '@weir/base';
import type { SystemCalls } from '../sockets/bindings.ts';
import { Descriptor, errorText, SystemError } from '../sockets/errno.ts';
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
  EBADF,
  EBADFD,
  EFAULT,
  EINTR,
  EIO,
  EPOLLIN,
} from '../sockets/linux.ts';
import type { NativeMemory } from '../native-memory.ts';
import { VIRTIO_HEADER, needsNoCheck, putVirtioHeader, segmentSizeOf } from './virtio-header.ts';
import type {
  DeviceHandlers,
  DeviceTraits,
  InboundPacket,
  PacketDevice,
  PacketOutput,
} from '@weir/base/ip';
import {
  configureInterface,
  restoreInterface,
  type InterfacePlan,
  type Restored,
} from '../netlink/interface.ts';
import { NetlinkError, NetlinkSocket } from '../netlink/netlink-socket.ts';
import type { KernelIo } from '../sockets/kernel-io.ts';
import type { Readiness } from '../sockets/poller.ts';

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
const LONGEST_NAME = NAME_SIZE - 1;

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
interface OpenedTun {
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
      return 'there is no /dev/net/tun: load the kernel module "tun"; a systemd unit also needs PrivateDevices=no, a container the device';
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

/** Size in bytes of the largest IP packet: the length field of IPv4 has 16 bits. */
const LARGEST_PACKET = 65_535;

/** Packets read per turn of the event loop; the rest follows in the next turn. */
const PACKETS_A_TURN = 256;
/** Bytes read per turn, about 0.3 ms of copying. */
const BYTES_A_TURN = 1 << 20;

/** Read errors that end the device: it was removed, or there is a defect. */
const FATAL: ReadonlySet<number> = new Set([EBADF, EBADFD, EFAULT, EINVAL, EIO]);

/** The TUN device to create. */
export interface TunPlan extends InterfacePlan {
  /** The name of the device; `undefined` lets the kernel choose. */
  readonly name: string | undefined;
}

/**
 * A TUN device of the kernel, with its addresses and routes. It is not persistent: it is removed
 * with the process, however that ends.
 *
 * Offloads allow packets of up to 64 KB: the kernel's TCP passes and accepts unsegmented packets,
 * whose checksums are never computed.
 */
export class TunDevice implements PacketDevice, Readiness {
  readonly name: string;
  /** The kernel's number of the interface. */
  readonly index: number;
  readonly traits: DeviceTraits;
  readonly output: PacketOutput;
  readonly closed: Promise<Error | undefined>;
  readonly #plan: TunPlan;
  readonly #io: KernelIo;
  readonly #descriptor: Descriptor;
  readonly #input: NativeMemory;
  readonly #written: Output;
  readonly #packet: { -readonly [key in keyof InboundPacket]: InboundPacket[key] };
  readonly #resolveClosed: (cause: Error | undefined) => void;
  #slot = -1;
  #handlers: DeviceHandlers | undefined;

  /**
   * Creates the device; until `configure` it is down, without addresses and routes.
   * @throws {TunError} with the reason as text; the device is then removed.
   */
  static open(io: KernelIo, plan: TunPlan): TunDevice {
    const opened = openTun(io.calls, plan.name);
    try {
      return new TunDevice(io, opened, plan);
    } catch (error) {
      opened.descriptor.close();
      throw error;
    }
  }

  private constructor(io: KernelIo, opened: OpenedTun, plan: TunPlan) {
    const { mtu } = plan;
    this.#plan = plan;
    this.#io = io;
    this.#descriptor = opened.descriptor;
    this.name = opened.name;
    this.index = opened.index;
    this.traits = {
      mtu,
      checksumOffload: opened.segmentsTcp,
      tcpSegmentation: opened.segmentsTcp,
      udpSegmentation: opened.segmentsUdp,
      largest: opened.segmentsTcp ? LARGEST_PACKET : mtu,
    };
    this.#input = io.calls.memory(VIRTIO_HEADER + LARGEST_PACKET);
    this.#written = new Output(io, this.#descriptor);
    this.output = this.#written;
    this.#packet = {
      buffer: this.#input.bytes,
      start: VIRTIO_HEADER,
      end: VIRTIO_HEADER,
      checksumVouched: false,
      segmentSize: 0,
    };
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#resolveClosed = resolve;
  }

  get dropped(): number {
    return this.#written.dropped;
  }

  /** Sets the device's MTU, addresses and routes. @throws {TunError} with the reason as text. */
  configure(): void {
    configure(this.#io, this.name, this.index, this.#plan);
  }

  /** Restores settings that another program has removed. @throws {SystemError} without netlink. */
  restore(): Restored {
    if (this.#descriptor.number < 0) return { restored: [], failures: [] };
    using netlink = new NetlinkSocket(this.#io.calls);
    return restoreInterface(netlink, this.index, this.#plan);
  }

  start(handlers: DeviceHandlers): void {
    this.#handlers = handlers;
    if (this.#descriptor.number < 0) return;
    this.#slot = this.#io.poller.add(this.#descriptor.number, this, EPOLLIN);
  }

  /** Does nothing: each packet is sent when it is committed. */
  flush(): void {}

  ready(): void {
    if (this.#read()) this.#handlers?.onDrained();
  }

  close(cause?: Error): void {
    if (this.#descriptor.number < 0) return;
    if (this.#slot >= 0) this.#io.poller.remove(this.#slot);
    this.#handlers = undefined;
    this.#descriptor.close();
    this.#resolveClosed(cause);
  }

  /** Reads packets. Returns whether any was read. */
  #read(): boolean {
    const { calls, poller } = this.#io;
    let bytes = 0;
    let packets = 0;
    while (packets < PACKETS_A_TURN && bytes < BYTES_A_TURN && this.#descriptor.number >= 0) {
      const length = calls.read(this.#descriptor.number, this.#input.at, this.#input.bytes.length);
      if (length < 0) {
        const errno = calls.errno();
        if (errno === EINTR) continue;
        if (FATAL.has(errno)) this.close(new TunError(`the device ${this.name} is gone`));
        // After any other error (out of memory) the poller calls again while there are packets.
        break;
      }
      packets++;
      bytes += length;
      this.#pass(length);
    }
    poller.moved(bytes);
    return packets > 0;
  }

  #pass(length: number): void {
    const memory = this.#input.bytes;
    if (length <= VIRTIO_HEADER) return;
    const segmentSize = segmentSizeOf(memory, 0);
    if (segmentSize < 0) return;
    const packet = this.#packet;
    packet.end = length;
    packet.checksumVouched = needsNoCheck(memory, 0);
    packet.segmentSize = segmentSize;
    this.#handlers?.onPacket(packet);
  }
}

/** The packet being written; it is sent when it is committed. */
class Output implements PacketOutput {
  readonly buffer: Uint8Array;
  dropped = 0;
  readonly #io: KernelIo;
  readonly #descriptor: Descriptor;
  readonly #memory: NativeMemory;

  constructor(io: KernelIo, descriptor: Descriptor) {
    this.#io = io;
    this.#descriptor = descriptor;
    this.#memory = io.calls.memory(VIRTIO_HEADER + LARGEST_PACKET);
    this.buffer = this.#memory.bytes;
  }

  reserve(bytes: number): number {
    return this.#descriptor.number < 0 || bytes > LARGEST_PACKET ? -1 : VIRTIO_HEADER;
  }

  commit(length: number, segmentSize: number, checksumStart: number, checksumOffset: number): void {
    const fd = this.#descriptor.number;
    if (fd < 0) return;
    putVirtioHeader(this.buffer, 0, segmentSize, checksumStart, checksumOffset);
    // Errors include lack of memory and an interface that is down: a packet may be lost on any
    // path.
    if (this.#io.calls.write(fd, this.#memory.at, VIRTIO_HEADER + length) < 0) this.dropped++;
    else this.#io.poller.moved(length);
  }
}

function configure(io: KernelIo, name: string, index: number, plan: TunPlan): void {
  try {
    using netlink = new NetlinkSocket(io.calls);
    configureInterface(netlink, index, plan);
  } catch (error) {
    if (error instanceof NetlinkError) {
      const code = error.code === 'EEXIST' ? 'EEXIST' : 'tun';
      throw new TunError(`cannot ${error.syscall}: ${error.reason}`, { cause: error }, code);
    }
    if (error instanceof SystemError) {
      throw new TunError(`cannot set up the device ${name}: ${error.message}`, { cause: error });
    }
    throw error;
  }
}
