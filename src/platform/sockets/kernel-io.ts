import type { SystemCalls } from './bindings.ts';
import { DatagramReceiver } from './datagrams/datagram-receiver.ts';
import { DatagramSender } from './datagrams/datagram-sender.ts';
import type { DeviceChoice } from './device-choice.ts';
import { DescriptorRoom } from './descriptor-room.ts';
import type { NativeMemory } from '../native-memory.ts';
import { PipePool, type Timers } from './streams/pipe-pool.ts';
import { Poller } from './poller.ts';
import { SocketAddresses } from './sockaddr.ts';

/** Bytes that one call receives at most. */
export const RECEIVE_SIZE = 128 << 10;

/**
 * What the kernel sockets of one thread share: the calls, the poller and the memory that calls read
 * and write. Nothing in the memory outlives the call that it was prepared for.
 */
export class KernelIo implements Disposable {
  readonly calls: SystemCalls;
  readonly timers: Timers;
  readonly poller: Poller;
  readonly addresses: SocketAddresses;
  readonly pipes: PipePool;
  readonly room: DescriptorRoom;
  /** Where received bytes arrive, and small pieces are gathered: RECEIVE_SIZE bytes. */
  readonly scratch: NativeMemory;
  /** Values of socket options. */
  readonly option: NativeMemory;
  /** Chooses the devices that sockets send by; `undefined` leaves that to the kernel. */
  devices: DeviceChoice | undefined;
  #receiver: DatagramReceiver | undefined;
  #sender: DatagramSender | undefined;

  /** @throws {SystemError} when there is no epoll instance to be had. */
  constructor(calls: SystemCalls, timers: Timers) {
    this.calls = calls;
    this.timers = timers;
    this.poller = new Poller(calls);
    this.addresses = new SocketAddresses(calls);
    this.pipes = new PipePool(calls, timers);
    this.room = new DescriptorRoom(calls);
    this.scratch = calls.memory(RECEIVE_SIZE);
    this.option = calls.memory(16);
  }

  /** Receives datagrams; 4 MB, on first use. */
  get receiver(): DatagramReceiver {
    return (this.#receiver ??= new DatagramReceiver(this.calls));
  }

  /** Sends datagrams. */
  get sender(): DatagramSender {
    return (this.#sender ??= new DatagramSender(this));
  }

  /** Ends the watch of the event loop. Sockets that are still open hear of nothing any more. */
  close(): void {
    this.poller.close();
    this.pipes.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
