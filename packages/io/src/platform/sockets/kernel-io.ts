import type { DeviceChoice, SystemCalls } from './bindings.ts';
import { DatagramReceiver } from './datagrams/datagram-receiver.ts';
import { DatagramSender } from './datagrams/datagram-sender.ts';
import { DescriptorRoom } from './descriptor-room.ts';
import type { NativeMemory } from '../native-memory.ts';
import { PipePool, type Timers } from './streams/pipe-pool.ts';
import { ReceiveBuffers } from './streams/receive-buffers.ts';
import { Poller } from './poller.ts';
import { SocketAddresses } from './sockaddr.ts';
import { OPTION_BYTES } from './socket-options.ts';

/** The most bytes that one call receives. */
export const RECEIVE_SIZE = 128 << 10;

/**
 * The state that the kernel sockets of a thread share: the calls, the poller, and memory for arguments and
 * results of calls, valid only during a call.
 */
export class KernelIo implements Disposable {
  readonly calls: SystemCalls;
  readonly timers: Timers;
  readonly poller: Poller;
  readonly addresses: SocketAddresses;
  readonly pipes: PipePool;
  readonly room: DescriptorRoom;
  /** Buffer of RECEIVE_SIZE bytes for received bytes and gathered small pieces. */
  readonly scratch: NativeMemory;
  /** Memory for values of socket options. */
  readonly option: NativeMemory;
  readonly receiveBuffers: ReceiveBuffers;
  /** Chooses the devices that sockets send through; `undefined` leaves that to the kernel. */
  devices: DeviceChoice | undefined;
  #receiver: DatagramReceiver | undefined;
  #sender: DatagramSender | undefined;

  /** Opens the poller. @throws {SystemError} if epoll_create1 fails. */
  constructor(calls: SystemCalls, timers: Timers) {
    this.calls = calls;
    this.timers = timers;
    this.poller = new Poller(calls);
    this.addresses = new SocketAddresses(calls);
    this.room = new DescriptorRoom(calls);
    this.pipes = new PipePool(calls, timers, undefined, () => this.room.has(2));
    this.scratch = calls.memory(RECEIVE_SIZE);
    this.option = calls.memory(OPTION_BYTES);
    this.receiveBuffers = new ReceiveBuffers(this);
  }

  /** The receiver of datagrams, created on first use; takes 4 MB. */
  get receiver(): DatagramReceiver {
    return (this.#receiver ??= new DatagramReceiver(this.calls));
  }

  /** The sender of datagrams. */
  get sender(): DatagramSender {
    return (this.#sender ??= new DatagramSender(this));
  }

  /** Ends the watch of the event loop. Open sockets get no more events. */
  close(): void {
    this.poller.close();
    this.pipes.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
