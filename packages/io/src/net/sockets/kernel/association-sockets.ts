import { SystemError } from '../../../platform/sockets/errno.ts';
import type { KernelIo } from '../../../platform/sockets/kernel-io.ts';
import { EMFILE } from '../../../platform/sockets/linux.ts';
import { AssociationOrder, type Ordered } from '../../bounds/association-order.ts';
import type { Clock } from '../../time/clock.ts';
import { LinkClosedError } from '../../errors.ts';
import { descriptorHolders, type DescriptorHolders } from '../descriptor-holders.ts';

type Room = Pick<KernelIo['room'], 'takeForAssociation' | 'has'>;

/** Sockets that associations may always have: one client's TCP flows must not end other clients' UDP, such as DNS. */
const LEAST_SOCKETS = 32;

/** The socket of an association. */
export interface AssociationSocket extends Ordered {
  close(cause: Error): void;
}

/**
 * The sockets of all UDP associations of a thread, of every inbound and outbound. Clients may open any
 * number of them; they share the descriptors that are not reserved (`DescriptorRoom`).
 */
export class AssociationSockets {
  readonly #room: Room;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #holders: Pick<DescriptorHolders, 'makeRoom'>;
  readonly #order = new AssociationOrder<AssociationSocket, string>();

  constructor(
    room: Room,
    clock: Pick<Clock, 'now'>,
    holders: Pick<DescriptorHolders, 'makeRoom'> = descriptorHolders,
  ) {
    this.#room = room;
    this.#clock = clock;
    this.#holders = holders;
  }

  get size(): number {
    return this.#order.size;
  }

  /** Returns the time of the monotonic clock, in milliseconds. */
  now(): number {
    return this.#clock.now();
  }

  /**
   * Makes sure that a descriptor is free for another socket of a client, by closing the socket of another association
   * if necessary (`AssociationOrder`), or, while there are few associations, those of a client with more flows.
   * @throws {SystemError} `EMFILE` when none may be closed.
   */
  makeRoom(client: string): void {
    if (this.#room.takeForAssociation()) return;
    // Before one of the few associations is closed.
    while (this.size < LEAST_SOCKETS) {
      if (this.#room.has(1)) return;
      if (!this.#holders.makeRoom(client)) break;
    }
    const victim = this.#order.victim(client, this.#clock.now());
    if (victim === undefined) throw new SystemError('bind', EMFILE);
    victim.close(new LinkClosedError('too many open files: it gave way to another association'));
  }

  add(socket: AssociationSocket, client: string): void {
    this.#order.add(socket, client);
  }

  /** Records a response; see `AssociationOrder`. */
  answered(socket: AssociationSocket): void {
    this.#order.answered(socket);
  }

  /** Records a datagram after a response; see `AssociationOrder`. */
  lasts(socket: AssociationSocket): void {
    this.#order.lasts(socket);
  }

  delete(socket: AssociationSocket): void {
    this.#order.delete(socket);
  }
}
